//! The future of a try.

use super::{
    AttemptBody, LastReply,
    record::{Record, in_words},
};
use http::Response;
use http_body::Body;
use mainstay_layers::{
    BoxError,
    classify::{Classify, Head, HttpClassifier},
};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

pin_project! {
    /// The future of [`AttemptService`].
    #[derive(Debug)]
    pub struct AttemptFuture<F> {
        #[pin]
        pub(super) inner: F,
        pub(super) record: Option<Record>,
    }
}

impl<F, E, RB> Future for AttemptFuture<F>
where
    F: Future<Output = Result<Response<RB>, E>>,
    E: Into<BoxError>,
    RB: Body,
{
    type Output = Result<Response<AttemptBody<RB>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = ready!(this.inner.poll(cx));
        let mut record = this.record.take();
        let classifier = HttpClassifier::new();
        match outcome {
            Err(error) => {
                let error = error.into();
                if let Some(record) = &mut record {
                    record.fail(&in_words(classifier.error(&*error), &error), None, None);
                }
                Poll::Ready(Err(error))
            }
            Ok(response) => {
                let verdict = classifier.head(Head::of(&response));
                if let Some(record) = &mut record {
                    if !verdict.is_success() {
                        let status = verdict.status.unwrap_or(response.status());
                        let body = response.extensions().get::<crate::judge::ErrorBody>();
                        let reply = body.map(|body| LastReply {
                            provider: record.layer.settings.target.provider.clone(),
                            status,
                            headers: response.headers().clone(),
                            body: body.0.clone(),
                            verdict: verdict.clone(),
                        });
                        record.fail(&verdict, Some(status), reply);
                    } else if response.body().size_hint().exact().is_some() {
                        // It is here whole: what the caller does with it says nothing about the provider.
                        record.layer.settings.pace.record(false, record.since.elapsed());
                        record.succeed();
                    } else {
                        let took = record.since.elapsed();
                        record.hand_on();
                        record.layer.settings.pace.record(true, took);
                        record.layer.settings.observer.first_content(&record.layer.settings.target, took);
                    }
                }
                let record = record.filter(|record| record.open);
                Poll::Ready(Ok(response.map(|inner| AttemptBody { inner, record })))
            }
        }
    }
}
