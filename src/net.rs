//! HTTP, spoken in one place.
//!
//! [`HttpClient`] sends a request to an address that an operator configured (a model provider, a declared HTTP
//! tool). Redirects are returned, not followed, and no proxy is used unless the configuration names one. It is
//! not the guarded fetch of addresses that come from models or pages.

mod client;
mod error;

pub use bytes::Bytes;
pub use client::{HttpClient, HttpConfig, HttpRequest, HttpResponse};
pub use error::{NetError, NetErrorKind};
pub use hyper::{
    Method, StatusCode,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
