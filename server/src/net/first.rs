//! A race of two futures: the first to end wins.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Waits for the future that ends first, and drops the other one. If both have ended, `one` wins.
pub(super) async fn first<T>(one: impl Future<Output = T>, other: impl Future<Output = T>) -> T {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Pending => other.as_mut().poll(context),
        ready => ready,
    })
    .await
}
