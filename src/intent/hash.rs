//! The hash behind features: FNV-1a and a final mix. It is fixed: weights that ship depend on it.

/// Where a hash starts.
pub(super) const START: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds bytes to a hash.
pub(super) fn add(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Spreads a hash, so that any of its bits can be used.
pub(super) fn mix(state: u64) -> u64 {
    state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26)
}

/// The hash of parts with a separator between them.
pub(super) fn of(parts: &[&[u8]]) -> u64 {
    mix(parts.iter().fold(START, |state, part| add(add(state, part), &[0])))
}
