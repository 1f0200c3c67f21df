//! The shape of a schema, resolved once: which keys, types and values are possible where.
//!
//! It is no validator: it answers quickly which variant a value belongs to and what a place may hold.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::{
    back, merge,
    normal::Normal,
    root::resolve,
    tree::{self, Node},
};

/// How deep unions and references are followed at one place.
const MAX_HOPS: usize = 24;

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TypeSet(u8);

impl TypeSet {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    pub(super) const NUMBER: Self = Self(8 | 4);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const ANY: Self = Self(127);

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ANY,
        }
    }

    fn of_names(names: &[String]) -> Self {
        names.iter().fold(Self(0), |set, name| set.or(Self::named(name)))
    }

    /// What a node's own `type`, `enum` and `const` allow; its unions and references are not looked at.
    pub(super) fn of_node(node: &Node) -> Self {
        let named = if node.contains_key("type") { Self::of_names(&tree::types(node)) } else { Self::ANY };
        let own = match merge::fixed_values(node) {
            Some(values) => named.and(values.iter().fold(Self(0), |set, value| set.or(Self::of_value(value)))),
            None => named,
        };
        if is_nullable(node) { own.or(Self::NULL) } else { own }
    }

    /// The type of a value; a whole number counts as integer.
    pub(super) fn of_value(value: &Value) -> Self {
        Self::named(tree::type_name(value))
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every type of `other` is in the set.
    pub(super) const fn holds(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the set and `other` share a type.
    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// OpenAPI's `nullable`; the normal form has none, converted schemas may.
fn is_nullable(node: &Node) -> bool {
    node.get("nullable") == Some(&Value::Bool(true))
}

/// A place in a schema.
pub(super) type Place = usize;

#[derive(Debug, Clone)]
pub(super) struct Spot {
    types: TypeSet,
    nullable: bool,
    values: Option<Vec<Value>>,
    pub(super) properties: HashMap<String, Place>,
    /// Original key by alias.
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) required: Vec<String>,
    closed: bool,
    pub(super) additional: Option<Place>,
    patterns: bool,
    pub(super) items: Option<Place>,
    pub(super) prefix: Vec<Place>,
    /// References and members of `allOf`: all of them hold here too.
    all: Vec<Place>,
    /// `anyOf` and `oneOf`: of each group one or more hold here.
    groups: Vec<Vec<Place>>,
}

/// Which way values come to a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The shape of an original schema meets values as a model gives them.
    Back,
    /// The shape of a converted schema meets values of the original.
    Forth,
}

/// A schema as a graph of places.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    spots: Vec<Spot>,
    way: Way,
}

/// The root of a shape.
pub(super) const ROOT: Place = 0;

/// Which spots hold for a value.
pub(super) struct Holding {
    /// Those that hold.
    pub(super) yes: Vec<Place>,
    /// Variants that do not.
    pub(super) other: Vec<Place>,
}

impl Shape {
    pub(super) fn new(normal: &Normal, way: Way) -> Self {
        let mut shape = Self { spots: Vec::new(), way };
        let mut known = HashMap::new();
        shape.add(&normal.root, &normal.defs, &mut known);
        shape
    }

    fn add(&mut self, node: &Node, defs: &Node, known: &mut HashMap<String, Place>) -> Place {
        let place = self.spots.len();
        self.spots.push(Spot::of(node));
        let mut all = self.add_list(node.get("allOf"), defs, known);
        if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
            all.extend(self.add_reference(reference, defs, known));
        }
        let groups = ["anyOf", "oneOf"].map(|keyword| self.add_list(node.get(keyword), defs, known));
        let mut properties = HashMap::new();
        for (key, schema) in tree::properties(node).into_iter().flatten() {
            properties.insert(key.clone(), self.add_value(schema, defs, known));
        }
        let additional = node.get("additionalProperties").filter(|schema| schema.is_object());
        let additional = additional.map(|schema| self.add_value(schema, defs, known));
        let items = node.get("items").map(|schema| self.add_value(schema, defs, known));
        let prefix = self.add_list(node.get("prefixItems"), defs, known);
        let groups = groups.into_iter().filter(|group| !group.is_empty()).collect();
        if let Some(spot) = self.spots.get_mut(place) {
            *spot = Spot { properties, additional, items, prefix, all, groups, ..spot.clone() };
        }
        place
    }

    fn add_value(&mut self, schema: &Value, defs: &Node, known: &mut HashMap<String, Place>) -> Place {
        match schema.as_object() {
            Some(node) => self.add(node, defs, known),
            None => self.add(&Node::new(), defs, known),
        }
    }

    fn add_list(&mut self, list: Option<&Value>, defs: &Node, known: &mut HashMap<String, Place>) -> Vec<Place> {
        let members = list.and_then(Value::as_array).into_iter().flatten();
        members.map(|schema| self.add_value(schema, defs, known)).collect()
    }

    fn add_reference(&mut self, reference: &str, defs: &Node, known: &mut HashMap<String, Place>) -> Option<Place> {
        if let Some(place) = known.get(reference) {
            return Some(*place);
        }
        let name = reference.strip_prefix("#/$defs/")?;
        let target = defs.get(name)?.as_object()?;
        known.insert(reference.to_owned(), self.spots.len());
        Some(self.add(target, defs, known))
    }

    pub(super) fn spot(&self, place: Place) -> Option<&Spot> {
        self.spots.get(place)
    }

    /// The types a value at `place` may have.
    pub(super) fn types(&self, place: Place) -> TypeSet {
        self.types_within(place, MAX_HOPS)
    }

    fn types_within(&self, place: Place, hops: usize) -> TypeSet {
        let (Some(spot), Some(hops)) = (self.spot(place), hops.checked_sub(1)) else { return TypeSet::ANY };
        let own = spot.all.iter().fold(spot.types, |set, member| set.and(self.types_within(*member, hops)));
        spot.groups.iter().fold(own, |set, group| {
            let any = group.iter().fold(TypeSet(0), |any, variant| any.or(self.types_within(*variant, hops)));
            set.and(any)
        })
    }

    /// The spots that hold for `value` at `place`: the place itself, what it refers to, and the variants that fit.
    /// Where no variant fits, all are taken, so that whatever can be settled below is.
    pub(super) fn holding(&self, place: Place, value: &Value) -> Holding {
        let mut holding = Holding { yes: Vec::new(), other: Vec::new() };
        self.hold(place, value, MAX_HOPS, &mut holding);
        holding
    }

    fn hold(&self, place: Place, value: &Value, hops: usize, holding: &mut Holding) {
        let (Some(spot), Some(hops)) = (self.spot(place), hops.checked_sub(1)) else { return };
        if holding.yes.contains(&place) {
            return;
        }
        holding.yes.push(place);
        for member in &spot.all {
            self.hold(*member, value, hops, holding);
        }
        for group in &spot.groups {
            let (fit, unfit): (Vec<Place>, Vec<Place>) =
                group.iter().partition(|variant| self.fits(**variant, value, hops));
            if fit.is_empty() {
                unfit.iter().for_each(|variant| self.hold(*variant, value, hops, holding));
                continue;
            }
            // One way back a value may belong to several variants; forth it is written for the first.
            let fit = if self.way == Way::Forth { fit.get(..1).unwrap_or_default() } else { &fit };
            fit.iter().for_each(|variant| self.hold(*variant, value, hops, holding));
            for variant in unfit {
                let mut rest = Holding { yes: Vec::new(), other: Vec::new() };
                self.hold(variant, value, hops, &mut rest);
                holding.other.append(&mut rest.yes);
                holding.other.append(&mut rest.other);
            }
        }
    }

    /// Whether a value, as a model gives it, can belong to `place`: types, fixed values, required and unknown keys, all
    /// the way down. A null counts as a key left out; a label counts as its value.
    fn fits(&self, place: Place, value: &Value, hops: usize) -> bool {
        let (Some(spot), Some(hops)) = (self.spot(place), hops.checked_sub(1)) else { return true };
        if spot.nullable && value.is_null() {
            return true;
        }
        let labelled = spot.values.as_ref().map(|values| match self.way {
            Way::Back => back::value_of(values, value).is_some(),
            Way::Forth => back::label_for(values, value).is_some(),
        });
        let typed = spot.types.holds(TypeSet::of_value(value));
        if labelled == Some(false) || (labelled.is_none() && !typed) {
            return false;
        }
        let all = spot.all.iter().all(|member| self.fits(*member, value, hops));
        let groups = spot.groups.iter().all(|group| group.iter().any(|variant| self.fits(*variant, value, hops)));
        all && groups && self.children_fit(spot, value)
    }

    fn children_fit(&self, spot: &Spot, value: &Value) -> bool {
        match value {
            Value::Object(map) => {
                let given = |key: &String| match self.way {
                    Way::Back => {
                        map.contains_key(key) || (!spot.aliases.is_empty() && map.contains_key(&back::alias(key)))
                    }
                    Way::Forth => {
                        let by_alias = || map.keys().any(|given| back::alias(given) == *key);
                        let may_be_null = |place: &Place| self.types(*place).meets(TypeSet::NULL);
                        map.contains_key(key) || spot.properties.get(key).is_some_and(may_be_null) || by_alias()
                    }
                };
                spot.required.iter().all(given) && map.iter().all(|(key, child)| self.key_fits(spot, key, child))
            }
            Value::Array(list) => list.iter().enumerate().all(|(index, child)| {
                let place = spot.prefix.get(index).copied().or(spot.items);
                place.is_none_or(|place| self.fits(place, child, MAX_HOPS))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }

    fn key_fits(&self, spot: &Spot, key: &str, child: &Value) -> bool {
        let back = self.way == Way::Back;
        let named = spot.aliases.get(key).map_or(key, String::as_str);
        let place =
            spot.properties.get(named).or_else(|| if back { None } else { spot.properties.get(&back::alias(key)) });
        match (place, spot.additional) {
            (Some(_), _) if back && child.is_null() && !spot.required.iter().any(|required| required == named) => true,
            (Some(place), _) => self.fits(*place, child, MAX_HOPS),
            (None, _) if back && child.is_null() => true,
            (None, Some(place)) => spot.patterns || self.fits(place, child, MAX_HOPS),
            (None, None) => spot.patterns || !spot.closed,
        }
    }
}

impl Spot {
    fn of(node: &Node) -> Self {
        let keys = tree::properties(node).into_iter().flat_map(Node::keys);
        let odd = keys.filter(|key| !back::KeyRule::Gemini.accepts(key));
        Self {
            types: TypeSet::of_node(node),
            nullable: is_nullable(node),
            values: merge::fixed_values(node),
            properties: HashMap::new(),
            aliases: odd.map(|key| (back::alias(key), key.clone())).collect(),
            required: tree::required(node),
            closed: node.get("additionalProperties") == Some(&Value::Bool(false)),
            additional: None,
            patterns: node.contains_key("patternProperties"),
            items: None,
            prefix: Vec::new(),
            all: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// The values the spot is fixed to.
    pub(super) fn values(&self) -> Option<&[Value]> {
        self.values.as_deref()
    }
}

/// Whether a schema accepts null, as far as its types, values, unions and references tell.
pub(super) fn accepts_null(node: &Node, defs: &Node) -> bool {
    null_within(node, defs, MAX_HOPS)
}

fn null_within(node: &Node, defs: &Node, hops: usize) -> bool {
    let Some(hops) = hops.checked_sub(1) else { return true };
    let member = |schema: &Value| schema.as_object().is_none_or(|node| null_within(node, defs, hops));
    let list = |keyword: &str| node.get(keyword).and_then(Value::as_array);
    let reference = node.get("$ref").and_then(|reference| resolve(reference, defs));
    TypeSet::of_node(node).meets(TypeSet::NULL)
        && reference.is_none_or(|target| null_within(target, defs, hops))
        && list("allOf").is_none_or(|members| members.iter().all(member))
        && ["anyOf", "oneOf"].into_iter().filter_map(list).all(|group| group.iter().any(member))
}
