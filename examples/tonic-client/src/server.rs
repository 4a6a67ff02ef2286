//! A search server that does what a script says, and keeps what it was told.

use crate::search::{
    Answer, Question,
    search_server::{Search, SearchServer},
};
use parking_lot::Mutex;
use std::{io, net::Ipv4Addr, pin::Pin, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_stream::{Stream, StreamExt, wrappers::TcpListenerStream};
use tonic::{
    Request, Response, Status,
    metadata::MetadataMap,
    transport::server::{Connected, Server},
};

/// What the server does with one call.
#[derive(Clone, Debug)]
pub enum Act {
    /// Answers; a stream word by word, with this status at its end.
    Answer(&'static str, Option<Status>),
    /// Fails before the first message: a reply of trailers only.
    Fail(Status),
    /// Says this, then nothing more; without words not even a head.
    Hang(&'static str),
}

/// The server. Call number *i* meets act *i*, and all later ones the last.
#[derive(Clone, Debug)]
pub struct Scripted {
    acts: Arc<[Act]>,
    seen: Arc<Mutex<Vec<MetadataMap>>>,
}

impl Scripted {
    /// A server that plays these acts.
    pub fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Self { acts: acts.into_iter().collect(), seen: Arc::default() }
    }

    /// How many calls came.
    pub fn calls(&self) -> usize {
        self.seen.lock().len()
    }

    /// That header of each call.
    pub fn header(&self, name: &str) -> Vec<Option<String>> {
        let of = |metadata: &MetadataMap| Some(metadata.get(name)?.to_str().ok()?.to_owned());
        self.seen.lock().iter().map(of).collect()
    }

    /// Serves on a free port of loopback, and returns the URL.
    ///
    /// # Errors
    /// The system's, when there is no port.
    pub async fn listen(&self) -> io::Result<String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        self.serve(TcpListenerStream::new(listener));
        Ok(url)
    }

    /// Serves these connections, in a task of the runtime.
    pub fn serve<IO>(&self, connections: impl Stream<Item = io::Result<IO>> + Send + 'static)
    where
        IO: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    {
        let service = SearchServer::new(self.clone());
        tokio::spawn(Server::builder().add_service(service).serve_with_incoming(connections));
    }

    fn next<T>(&self, request: &Request<T>) -> Act {
        let mut seen = self.seen.lock();
        let act = self.acts.get(seen.len()).or(self.acts.last()).cloned();
        seen.push(request.metadata().clone());
        act.unwrap_or(Act::Fail(Status::unimplemented("the script is empty")))
    }
}

#[tonic::async_trait]
impl Search for Scripted {
    async fn ask(&self, request: Request<Question>) -> Result<Response<Answer>, Status> {
        match self.next(&request) {
            Act::Answer(text, None) => Ok(Response::new(Answer { text: text.into() })),
            Act::Answer(_, Some(status)) | Act::Fail(status) => Err(status),
            Act::Hang(_) => std::future::pending().await,
        }
    }

    type StreamStream = Pin<Box<dyn Stream<Item = Result<Answer, Status>> + Send>>;

    async fn stream(&self, request: Request<Question>) -> Result<Response<Self::StreamStream>, Status> {
        let words = |text: &'static str| {
            tokio_stream::iter(text.split(' ').map(|word| Ok(Answer { text: word.into() })))
        };
        match self.next(&request) {
            Act::Answer(text, status) => {
                Ok(Response::new(Box::pin(words(text).chain(tokio_stream::iter(status.map(Err))))))
            }
            Act::Fail(status) => Err(status),
            Act::Hang("") => std::future::pending().await,
            Act::Hang(text) => Ok(Response::new(Box::pin(words(text).chain(tokio_stream::pending())))),
        }
    }
}
