//! Outside the sandbox there is no host to send a request for us: unit tests answer their own.

use std::cell::RefCell;

use super::target::Target;
use super::{Request, Response};
use crate::failure::{Failure, Kind};

type Answer = Box<dyn Fn(&Request) -> Result<Response, Failure>>;

thread_local! {
    static ANSWER: RefCell<Option<Answer>> = const { RefCell::new(None) };
}

/// Answers this thread's requests from now on, in a unit test of a plugin. Without it every request is `denied`, as
/// without a grant.
///
/// ```
/// use pausegate_sdk::http::{self, Response};
///
/// http::stub(|request| Ok(Response { status: 200, body: request.url().into(), ..Response::default() }));
/// assert_eq!(http::get("https://a.example/").send().unwrap().text(), "https://a.example/");
/// ```
pub fn stub(answer: impl Fn(&Request) -> Result<Response, Failure> + 'static) {
    ANSWER.with_borrow_mut(|slot| *slot = Some(Box::new(answer)));
}

pub(super) fn exchange(request: &Request, target: &Target) -> Result<Response, Failure> {
    ANSWER.with_borrow(|answer| match answer {
        Some(answer) => answer(request).map(|response| cut(response, request.body_bytes_max)),
        None => Err(Failure::new(Kind::Denied, format!("no grant allows {} {}", request.method, target.authority))),
    })
}

fn cut(mut response: Response, bytes_max: usize) -> Response {
    response.truncated |= response.body.len() > bytes_max;
    response.body.truncate(bytes_max);
    response
}
