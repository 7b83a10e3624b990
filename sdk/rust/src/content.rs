//! What a tool hands back.

use schemars::JsonSchema;
use serde::Serialize;

use crate::stop::{Result, Stop};

pub use crate::bindings::pausegate::plugin::types::{Blob, Body, Content, Success};

/// A result that programs can read: becomes the call's structured content, and `T`'s schema the tool's output
/// schema where `T: JsonSchema`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl Content {
    /// Text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Body::Text(text.into()).into()
    }

    /// A value for programs; at most one in a result.
    ///
    /// # Errors
    /// When `value` cannot be written as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        Ok(Body::Structured(serde_json::to_string(value)?).into())
    }

    /// Bytes with their type, such as `image/png`.
    pub fn blob(media_type: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Body::Blob(Blob { media_type: media_type.into(), data: data.into() }).into()
    }
}

impl From<Body> for Content {
    fn from(body: Body) -> Self {
        Self { body, meta: Vec::new() }
    }
}

/// What a tool may return when all went well: `()`, text, [`Json`], one [`Content`] or several.
pub trait IntoSuccess {
    /// # Errors
    /// When a value cannot be written as JSON.
    fn into_success(self) -> Result<Success>;
}

impl IntoSuccess for Success {
    fn into_success(self) -> Result<Success> {
        Ok(self)
    }
}

impl IntoSuccess for Vec<Content> {
    fn into_success(self) -> Result<Success> {
        Ok(Success { content: self, meta: Vec::new() })
    }
}

impl IntoSuccess for Content {
    fn into_success(self) -> Result<Success> {
        vec![self].into_success()
    }
}

impl IntoSuccess for () {
    fn into_success(self) -> Result<Success> {
        Vec::new().into_success()
    }
}

impl IntoSuccess for String {
    fn into_success(self) -> Result<Success> {
        Content::text(self).into_success()
    }
}

impl IntoSuccess for &str {
    fn into_success(self) -> Result<Success> {
        Content::text(self).into_success()
    }
}

impl<T: Serialize> IntoSuccess for Json<T> {
    fn into_success(self) -> Result<Success> {
        Content::json(&self.0)?.into_success()
    }
}

/// What a tool may return: a result whose error is a [`Stop`] or becomes one, so `pausegate_sdk::Result`,
/// `anyhow::Result`, or a result with an error of your own.
pub trait IntoReturned {
    /// # Errors
    /// The tool's own.
    fn into_returned(self) -> Result<Success>;
}

impl<T: IntoSuccess, E: Into<Stop>> IntoReturned for std::result::Result<T, E> {
    fn into_returned(self) -> Result<Success> {
        self.map_err(Into::into)?.into_success()
    }
}

/// Finds the output schema of a return type, for `#[tool]`. A trait cannot say "where `T: JsonSchema`, else
/// nothing"; method lookup can: it takes `Structured` on `Returns<…>` before `Unstructured` on `&Returns<…>`.
#[doc(hidden)]
pub mod output_schema {
    use super::{Json, JsonSchema};
    use crate::schema;

    pub struct Returns<R>(pub std::marker::PhantomData<R>);

    pub trait Structured {
        fn output_schema(&self) -> Option<String>;
    }

    impl<T: JsonSchema, E> Structured for Returns<Result<Json<T>, E>> {
        fn output_schema(&self) -> Option<String> {
            let schema = schema::of::<T>();
            // `true`, the schema of any value, says nothing.
            schema.as_object().is_some_and(|object| !object.is_empty()).then(|| schema.to_string())
        }
    }

    pub trait Unstructured {
        fn output_schema(&self) -> Option<String>;
    }

    impl<R> Unstructured for &Returns<R> {
        fn output_schema(&self) -> Option<String> {
            None
        }
    }
}
