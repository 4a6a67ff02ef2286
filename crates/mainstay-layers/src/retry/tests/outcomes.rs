//! All classes, through the whole layer.

use super::*;

#[tokio::test(start_paused = true)]
async fn each_class_makes_as_many_tries_as_its_row_says() {
    for class in Class::ALL {
        let probe = Probe::<Sent, Script>::new(move |_, _| async move {
            let mut reply = status(200);
            reply.extensions_mut().insert(Verdict::new(class));
            Ok(reply)
        });
        run(&exact(), &probe).await.unwrap();
        assert_eq!(probe.calls(), if class.is_retryable() { 3 } else { 1 }, "{class}");
    }
}

#[tokio::test(start_paused = true)]
async fn should_retry_overrides_the_status_both_ways() {
    for (code, says, calls) in [(500, "false", 1), (400, "true", 3)] {
        let probe = Probe::<Sent, Script>::new(move |_, _| async move {
            let mut reply = status(code);
            reply.headers_mut().insert("x-should-retry", says.parse().unwrap());
            Ok(reply)
        });
        run(&exact(), &probe).await.unwrap();
        assert_eq!(probe.calls(), calls);
    }
}

#[tokio::test(start_paused = true)]
async fn a_classifier_of_ones_own_decides() {
    #[derive(Clone)]
    struct Teapot;
    impl Classify for Teapot {
        fn error(&self, _: &(dyn std::error::Error + 'static)) -> Verdict {
            Verdict::new(Class::Transport)
        }
        fn head(&self, head: crate::classify::Head<'_>) -> Verdict {
            Verdict::new(if head.status == 418 { Class::Overloaded } else { Class::Success })
        }
    }
    let probe = statuses(&[418, 500]);
    let reply = run(&exact().with_classifier(Teapot), &probe).await.unwrap();
    assert_eq!((reply.status().as_u16(), probe.calls()), (500, 2));
}
