use pausegate_sdk::http::{self, Response};
use pausegate_sdk::{Effects, Kind, Tool};

use super::{BODY_BYTES_MAX, BTreeMap, Fetched, Json, get, post};

fn html(status: u16, body: impl Into<Vec<u8>>) -> Response {
    let headers = vec![("content-type".into(), b"text/html".to_vec())];
    Response { status, headers, body: body.into(), truncated: false }
}

#[test]
fn a_missing_page_is_a_result() {
    http::stub(|_| Ok(html(404, "gone")));
    let Json(fetched) = get("https://a.example/x".into(), BTreeMap::new()).unwrap();
    let expected = Fetched { status: 404, content_type: Some("text/html".into()), location: None, body: "gone".into(), truncated: false };
    assert_eq!(fetched, expected);
}

#[test]
fn a_long_page_is_cut() {
    http::stub(|_| Ok(html(200, vec![b'x'; BODY_BYTES_MAX])));
    let Json(fetched) = get("https://a.example/".into(), BTreeMap::new()).unwrap();
    assert_eq!((fetched.body.len(), fetched.truncated), (BODY_BYTES_MAX, false));
    http::stub(|_| Ok(html(200, vec![b'x'; BODY_BYTES_MAX + 1])));
    let Json(fetched) = get("https://a.example/".into(), BTreeMap::new()).unwrap();
    assert_eq!((fetched.body.len(), fetched.truncated), (BODY_BYTES_MAX, true));
}

#[test]
fn post_sends_headers_and_body() {
    http::stub(|request| {
        let sent = (request.method(), request.url(), request.sent_header("Content-Type"), request.sent_body());
        assert_eq!(sent, ("POST", "https://a.example/", Some("text/plain"), &b"hello"[..]));
        Ok(html(201, ""))
    });
    let headers = BTreeMap::from([("content-type".into(), "text/plain".into())]);
    let Json(fetched) = post("https://a.example/".into(), headers, "hello".into()).unwrap();
    assert_eq!(fetched.status, 201);
}

#[test]
fn without_a_grant_it_is_denied() {
    let failure = get("https://a.example/".into(), BTreeMap::new()).unwrap_err();
    assert_eq!(failure.kind(), Kind::Denied);
}

#[test]
fn reading_and_sending_have_different_effects() {
    assert_eq!((get::spec().effects, post::spec().effects), (Effects::ReadOnly, Effects::Once));
}
