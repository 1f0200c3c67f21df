//! Images of results on their way to a model: the turn knows them by their artifact, a provider wants the bytes.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    projection::ArtifactStore,
    types::{ArtifactId, Entry, Projection, TenantId, ToolResult},
};

/// What an address begins with that means an artifact of the turn's tenant. It never leaves the turn.
const SCHEME: &str = "artifact:";

/// The images that a result shows, as addresses within the turn.
pub(super) fn addresses(projection: &Projection) -> Vec<String> {
    projection.images.iter().map(|id| format!("{SCHEME}{id}")).collect()
}

/// An entry with its images in it. One that cannot be read any more is left out: the text says that there was one.
pub(super) async fn with_images(store: &dyn ArtifactStore, tenant: &TenantId, entry: &Entry) -> Entry {
    let mut entry = entry.clone();
    if let Entry::Results(results) = &mut entry {
        for result in results {
            load(store, tenant, result).await;
        }
    }
    entry
}

async fn load(store: &dyn ArtifactStore, tenant: &TenantId, result: &mut ToolResult) {
    for address in std::mem::take(&mut result.images) {
        let Some(id) = address.strip_prefix(SCHEME) else {
            result.images.push(address);
            continue;
        };
        match data_url(store, tenant, id).await {
            Ok(url) => result.images.push(url),
            Err(why) => tracing::warn!(artifact = id, %why, "an image of a result is not shown to the model"),
        }
    }
}

async fn data_url(store: &dyn ArtifactStore, tenant: &TenantId, id: &str) -> Result<String, String> {
    let id = ArtifactId::new(id).map_err(|error| error.to_string())?;
    let whole = store.get(tenant, &id, 0..u64::MAX).await.map_err(|error| error.to_string())?;
    let mime = whole.mime.split(';').next().unwrap_or_default().trim();
    Ok(format!("data:{mime};base64,{}", STANDARD.encode(&whole.bytes)))
}
