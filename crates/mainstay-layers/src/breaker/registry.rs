//! Circuits by name.

use super::{CircuitBreaker, Config, ConfigError, State};
use parking_lot::RwLock;
use std::{collections::HashMap, fmt, sync::Arc};

/// Circuits by name, at most a given number of them. Clones share it.
///
/// The keys are for the names of targets as they are configured, never for anything that a caller sent. The bound is a
/// safety net all the same: when it is reached, circuits that nobody else holds and that are as good as new make room;
/// where there are none the new one is refused.
///
/// ```
/// use mainstay_layers::breaker::{Config, Registry};
///
/// let circuits = Registry::new(Config::new().with_failures(3), 100)?;
/// let one = circuits.get_or_insert("openai")?;
/// one.force_open();
/// assert!(!circuits.get("openai").unwrap().would_admit());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    config: Config,
    capacity: usize,
    circuits: RwLock<HashMap<Arc<str>, CircuitBreaker>>,
}

impl Registry {
    /// At most `capacity` circuits, made with `config`.
    ///
    /// # Errors
    /// The configuration is out of range.
    pub fn new(config: Config, capacity: usize) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { shared: Arc::new(Shared { config, capacity, circuits: RwLock::default() }) })
    }

    /// The circuit of this name, if there is one.
    pub fn get(&self, key: &str) -> Option<CircuitBreaker> {
        self.shared.circuits.read().get(key).cloned()
    }

    /// The circuit of this name, made if there is none.
    ///
    /// # Errors
    /// The registry is full.
    pub fn get_or_insert(&self, key: &str) -> Result<CircuitBreaker, RegistryFull> {
        self.insert_with(key, |name| CircuitBreaker::of(name, self.shared.config.clone()))
    }

    /// The circuit of this name, made with `config` if there is none.
    ///
    /// # Errors
    /// The registry is full, or the configuration is out of range.
    pub fn get_or_insert_with(&self, key: &str, config: &Config) -> Result<CircuitBreaker, crate::BoxError> {
        config.check()?;
        Ok(self.insert_with(key, |name| CircuitBreaker::of(name, config.clone()))?)
    }

    /// Takes a circuit out. Those who hold it keep it.
    pub fn remove(&self, key: &str) -> Option<CircuitBreaker> {
        self.shared.circuits.write().remove(key)
    }

    /// All circuits, by name.
    pub fn all(&self) -> Vec<CircuitBreaker> {
        let mut all: Vec<_> = self.shared.circuits.read().values().cloned().collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        all
    }

    /// How many circuits there are.
    pub fn len(&self) -> usize {
        self.shared.circuits.read().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn insert_with(
        &self,
        key: &str,
        make: impl FnOnce(Arc<str>) -> CircuitBreaker,
    ) -> Result<CircuitBreaker, RegistryFull> {
        if let Some(circuit) = self.get(key) {
            return Ok(circuit);
        }
        let mut circuits = self.shared.circuits.write();
        if let Some(circuit) = circuits.get(key) {
            return Ok(circuit.clone());
        }
        if circuits.len() >= self.shared.capacity {
            circuits.retain(|_, circuit| circuit.is_shared() || !is_as_new(circuit));
        }
        if circuits.len() >= self.shared.capacity {
            return Err(RegistryFull { capacity: self.shared.capacity });
        }
        let name: Arc<str> = key.into();
        let circuit = make(name.clone());
        circuits.insert(name, circuit.clone());
        Ok(circuit)
    }
}

/// Whether a new circuit would decide as this one does.
fn is_as_new(circuit: &CircuitBreaker) -> bool {
    let seen = circuit.metrics();
    seen.state == State::Closed && seen.failures_in_a_row == 0 && !seen.forced
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("capacity", &self.shared.capacity)
            .field("circuits", &self.all())
            .finish()
    }
}

/// A [`Registry`] holds as many circuits as it may.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistryFull {
    /// How many it may hold.
    pub capacity: usize,
}

impl fmt::Display for RegistryFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no room for another circuit: there are {} already", self.capacity)
    }
}

impl std::error::Error for RegistryFull {}
