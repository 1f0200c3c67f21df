//! The one function through which every result reaches a model.
