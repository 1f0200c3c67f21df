//! The one integration binary: what holds between modules, and what a user meets from outside.

mod examples;
mod layers;
mod sizes;
