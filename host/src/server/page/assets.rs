//! The style, the script and the icon: served from here alone, under names that change with them, and kept by browsers.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::digest::Digest;
use crate::server::problem::Problem;

pub struct Asset {
    /// With a part of its hash: what was kept of an older one is not mistaken for it.
    pub path: String,
    media: &'static str,
    text: &'static str,
}

pub static STYLE: LazyLock<Asset> = LazyLock::new(|| Asset::new("page", "css", "text/css", include_str!("page.css")));
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| Asset::new("page", "js", "text/javascript", include_str!("page.js")));
pub static ICON: LazyLock<Asset> = LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("icon.svg")));

impl Asset {
    fn new(stem: &str, end: &str, media: &'static str, text: &'static str) -> Self {
        Self { path: format!("/assets/{stem}.{}.{end}", &Digest::of_bytes(text.as_bytes()).hex()[..16]), media, text }
    }
}

pub async fn serve(Path(name): Path<String>) -> Result<Response, Problem> {
    let path = format!("/assets/{name}");
    let asset = [&*STYLE, &*SCRIPT, &*ICON].into_iter().find(|asset| asset.path == path).ok_or_else(|| Problem::unknown("file"))?;
    let media = format!("{}; charset=utf-8", asset.media);
    Ok(([(header::CONTENT_TYPE, media), (header::CACHE_CONTROL, "public, max-age=31536000, immutable".to_owned())], asset.text).into_response())
}
