//! Whether a target would be asked, what that is expected to cost, and what follows from how it went.

use super::{
    super::{
        capability::{Incapable, Needs},
        cooldown::{Cooling, Scope},
        recover::Prefill,
    },
    Target,
};
use crate::{body::RequestBody, peek::Call};
use http::{StatusCode, request::Parts};
use http_body::Body;
use mainstay_layers::{
    breaker::CircuitBreaker,
    classify::{Class, Verdict},
};
use std::{sync::Arc, time::Duration};

/// What is known of a call before it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Asks<'a> {
    pub(in super::super) call: Option<&'a Call>,
    /// Read only where a target declares what it can do.
    pub(in super::super) needs: Option<&'a Needs>,
}

/// Why a target is passed by without asking it.
#[derive(Clone, Debug)]
pub(in super::super) enum Skip {
    /// It does not have the endpoint.
    Unsupported,
    /// Its model cannot do what the call asks for.
    Incapable(Incapable),
    /// Its circuit is open.
    Open { retry_in: Duration },
    /// It cools.
    Cooling(Cooling),
}

impl Target {
    /// What a call to it is expected to cost: time to first content, times the calls that share it.
    pub(in super::super) fn cost(&self, stream: bool) -> f64 {
        self.pace.expected(stream).as_secs_f64() * (self.in_flight() as f64 + 1.0)
    }

    /// Pays for a hedge.
    pub(in super::super) fn may_hedge(&self, parts: &Parts, body: &RequestBody) -> bool {
        self.budget.as_ref().is_none_or(|budget| budget.try_withdraw(self.price(parts, body)))
    }

    /// Takes from the budget for what follows on a failed try here, as far as there is something.
    pub(in super::super) fn charge(&self, parts: &Parts, body: &RequestBody) {
        if let Some(budget) = &self.budget {
            budget.withdraw_up_to(self.price(parts, body));
        }
    }

    fn price(&self, parts: &Parts, body: &RequestBody) -> f64 {
        self.cost.as_ref().map_or(1.0, |cost| cost(parts, &body.size_hint()))
    }

    pub(in super::super) fn prefill(&self) -> Prefill {
        match self.capabilities.prefill {
            Some(false) => Prefill::Never,
            _ => self.prefill,
        }
    }

    /// The model to ask of it for a call that named `model`.
    pub(in super::super) fn model(&self, model: Option<&Arc<str>>) -> Arc<str> {
        self.asked.as_ref().or(self.name.model.as_ref()).or(model).cloned().unwrap_or_else(|| Arc::from(""))
    }

    /// Notes a failure of a call for `model`, for the calls that follow.
    pub(in super::super) fn cool(
        &self,
        status: StatusCode,
        verdict: &Verdict,
        another: bool,
        model: &Arc<str>,
    ) {
        let scope = Scope { own_key: self.own_key, own_model: self.name.model.is_some() };
        let cooldown = match verdict.class {
            Class::QuotaExhausted | Class::Auth => &self.key_cooldown,
            _ => &self.cooldown,
        };
        cooldown.begin(status, verdict, another, scope, model);
    }

    /// Why it would not be asked now. Costs a few loads.
    pub(in super::super) fn skip(&self, asks: Asks<'_>) -> Option<Skip> {
        let Asks { call, needs } = asks;
        if let (Some(takes), Some(call)) = (&self.takes, call) {
            if !takes(call) {
                return Some(Skip::Unsupported);
            }
        }
        if let Some(lack) = needs.and_then(|needs| self.capabilities.lack(needs)) {
            return Some(Skip::Incapable(Incapable::new(&self.name, lack)));
        }
        let model = match (&self.asked, &self.name.model, call) {
            (Some(model), _, _) | (None, Some(model), _) => &**model,
            (None, None, call) => call.map_or("", |call| &*call.model),
        };
        if let Some(cooling) = self.cooling_for(model) {
            return Some(Skip::Cooling(cooling));
        }
        let retry_in = self.breaker.as_ref().and_then(CircuitBreaker::retry_in)?;
        Some(Skip::Open { retry_in })
    }
}
