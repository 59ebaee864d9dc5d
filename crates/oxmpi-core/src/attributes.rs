//! Attribute caching: keys with their callbacks, and the attributes of an object.
//!
//! Only data. Nothing here calls a callback, because a callback may call MPI and change the table
//! that is being iterated. `keyvals.rs` takes one attribute, releases every lock, calls, and
//! returns for the next.
//!
//! A freed key lives on in the attributes that use it, as the standard requires: they can still be
//! read, deleted and copied, but the key can be set on no other object.

use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Datatype, Win};
use oxmpi_abi::{Result, bail};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The kind of object that a key is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    Comm,
    Datatype,
    Win,
}

impl Owner {
    fn name(self) -> &'static str {
        match self {
            Owner::Comm => "communicators",
            Owner::Datatype => "datatypes",
            Owner::Win => "windows",
        }
    }
}

/// A key, alive while the registry or an attribute refers to it.
#[derive(Debug)]
pub struct Keyval<C> {
    pub number: i32,
    pub owner: Owner,
    pub callbacks: C,
}

/// Every key that the program has created and not freed, and the freed ones that attributes still use.
pub struct KeyvalRegistry<C> {
    keys: BTreeMap<i32, Arc<Keyval<C>>>,
    freed: BTreeMap<i32, Weak<Keyval<C>>>,
    next: i32,
}

/// The first key of the program's own; all predefined ones are below it.
const FIRST: i32 = 4096;

impl<C> KeyvalRegistry<C> {
    pub const fn new() -> KeyvalRegistry<C> {
        KeyvalRegistry { keys: BTreeMap::new(), freed: BTreeMap::new(), next: FIRST }
    }

    /// Makes a new key. Numbers are never reused, so a freed one cannot get another meaning.
    pub fn create(&mut self, owner: Owner, callbacks: C) -> Result<i32> {
        if self.next == i32::MAX {
            bail!(MPI_ERR_NO_SPACE, "no numbers are left for attribute keys");
        }
        let number = self.next;
        self.next += 1;
        self.keys.insert(number, Arc::new(Keyval { number, owner, callbacks }));
        Ok(number)
    }

    /// The key with this number, to be set on an object of this kind.
    pub fn get(&self, owner: Owner, number: i32) -> Result<&Arc<Keyval<C>>> {
        match self.keys.get(&number) {
            Some(key) if key.owner == owner => Ok(key),
            Some(key) => {
                let (theirs, ours) = (key.owner.name(), owner.name());
                bail!(MPI_ERR_KEYVAL, "attribute key {number} was created for {theirs}, not for {ours}")
            }
            None if number == MPI_KEYVAL_INVALID => bail!(MPI_ERR_KEYVAL, "the attribute key is MPI_KEYVAL_INVALID"),
            None if (FIRST..self.next).contains(&number) => {
                bail!(MPI_ERR_KEYVAL, "attribute key {number} has been freed")
            }
            None => bail!(MPI_ERR_KEYVAL, "{number} is not an attribute key that the program created"),
        }
    }

    /// Frees a key. Attributes that use it keep it. While there is one, freeing the key again has
    /// no effect: programs do so in delete callbacks, and in the standard the key ends with its
    /// last attribute.
    pub fn free(&mut self, owner: Owner, number: i32) -> Result<()> {
        self.freed.retain(|_, key| key.strong_count() > 0);
        if self.freed.get(&number).and_then(Weak::upgrade).is_some_and(|key| key.owner == owner) {
            return Ok(());
        }
        self.get(owner, number)?;
        if let Some(key) = self.keys.remove(&number) {
            self.freed.insert(number, Arc::downgrade(&key));
        }
        Ok(())
    }
}

impl<C> Default for KeyvalRegistry<C> {
    fn default() -> KeyvalRegistry<C> {
        KeyvalRegistry::new()
    }
}

/// What was stored. C stores addresses and Fortran integers; each language can read what the other stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    Pointer(usize),
    /// Boxed, because C reads it through its address.
    Integer(Box<isize>),
}

impl Value {
    pub fn integer(value: isize) -> Value {
        Value::Integer(Box::new(value))
    }

    /// What C reads: the pointer, or the address of the integer, which lives as long as the
    /// attribute. On little-endian machines that is the address of an `int` as well as of an
    /// `MPI_Aint`.
    pub fn as_pointer(&self) -> usize {
        match self {
            Value::Pointer(pointer) => *pointer,
            Value::Integer(integer) => &raw const **integer as usize,
        }
    }

    /// What Fortran reads: the integer, or the pointer as one.
    pub fn as_integer(&self) -> isize {
        match self {
            Value::Pointer(pointer) => *pointer as isize,
            Value::Integer(integer) => **integer,
        }
    }
}

const _: () = assert!(cfg!(target_endian = "little"), "an int attribute is read through the address of a wider one");

#[derive(Debug)]
pub struct Attribute<C = Callbacks> {
    pub key: Arc<Keyval<C>>,
    pub value: Value,
}

// By hand: a derived one would require that C can be cloned, which the shared key does not need.
impl<C> Clone for Attribute<C> {
    fn clone(&self) -> Attribute<C> {
        Attribute { key: Arc::clone(&self.key), value: self.value.clone() }
    }
}

/// The attributes of one object, in the order they were set.
///
/// Objects have few attributes, so they are a list. To replace one, the caller takes the old one
/// out, calls its delete callback and sets the new one, which goes to the end; if the callback
/// fails, it puts the old one back.
pub struct Attributes<C = Callbacks> {
    list: Vec<Attribute<C>>,
}

impl<C> Attributes<C> {
    pub const fn new() -> Attributes<C> {
        Attributes { list: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    #[inline]
    pub fn get(&self, number: i32) -> Option<&Attribute<C>> {
        self.list.iter().find(|attribute| attribute.key.number == number)
    }

    /// Appends an attribute; removes and returns an earlier one with the same key.
    pub fn set(&mut self, key: Arc<Keyval<C>>, value: Value) -> Option<Attribute<C>> {
        let old = self.take(key.number);
        self.list.push(Attribute { key, value });
        old
    }

    /// Removes an attribute.
    pub fn take(&mut self, number: i32) -> Option<Attribute<C>> {
        let place = self.list.iter().position(|attribute| attribute.key.number == number)?;
        Some(self.list.remove(place))
    }

    /// Removes the attribute that was set last. Repeated until it returns `None`, this is the order
    /// in which an object's attributes are deleted, even when callbacks set new ones.
    pub fn take_last(&mut self) -> Option<Attribute<C>> {
        self.list.pop()
    }

    /// Restores an attribute whose delete callback failed.
    pub fn put_back(&mut self, attribute: Attribute<C>) {
        self.list.push(attribute);
    }

    /// The attributes in the order they were set, as a duplicate passes them to the copy callbacks.
    pub fn iter(&self) -> impl Iterator<Item = &Attribute<C>> {
        self.list.iter()
    }
}

impl<C> Default for Attributes<C> {
    fn default() -> Attributes<C> {
        Attributes::new()
    }
}

/// An object that can hold attributes. Its handle has been checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    Comm(Comm),
    Win(Win),
    Datatype(Datatype),
}

impl Object {
    pub fn owner(self) -> Owner {
        match self {
            Object::Comm(_) => Owner::Comm,
            Object::Win(_) => Owner::Win,
            Object::Datatype(_) => Owner::Datatype,
        }
    }

    /// The handle, which callbacks get.
    pub fn handle(self) -> usize {
        match self {
            Object::Comm(comm) => comm.0,
            Object::Win(win) => win.0,
            Object::Datatype(datatype) => datatype.0,
        }
    }
}

/// The arguments of a callback: the object's handle, the key and the value as C reads it.
#[derive(Clone, Copy, Debug)]
pub struct AttributeCall {
    pub object: usize,
    pub key: i32,
    pub value: usize,
}

/// The value for the duplicate, if it gets one; or the program's error code.
pub type CopyFn = Box<dyn Fn(AttributeCall) -> Result<Option<usize>, i32> + Send + Sync>;
/// An error code keeps the attribute where it is.
pub type DeleteFn = Box<dyn Fn(AttributeCall) -> Result<(), i32> + Send + Sync>;

/// What happens to an attribute when its object is duplicated.
pub enum OnCopy {
    /// The duplicate does not get it.
    Nothing,
    /// The duplicate gets the same value.
    Same,
    Ask(CopyFn),
}

/// The callbacks of a key.
pub struct Callbacks {
    pub copy: OnCopy,
    pub delete: Option<DeleteFn>,
}

/// All keys of a library, and all attributes by the handle of their object. Few objects have any.
pub(crate) struct Tables {
    keys: Mutex<KeyvalRegistry<Callbacks>>,
    held: [Held; 3],
}

pub(crate) struct Held {
    /// How many objects have attributes. Mostly none: then no operation locks or searches.
    objects: AtomicUsize,
    by_handle: Mutex<BTreeMap<usize, Attributes>>,
}

impl Held {
    const fn new() -> Held {
        Held { objects: AtomicUsize::new(0), by_handle: Mutex::new(BTreeMap::new()) }
    }

    pub(crate) fn attributes<R>(&self, handle: usize, with: impl FnOnce(&mut Attributes) -> R) -> R {
        let mut all = locked(&self.by_handle);
        let attributes = all.entry(handle).or_default();
        let result = with(attributes);
        if attributes.is_empty() {
            all.remove(&handle);
        }
        self.objects.store(all.len(), Relaxed);
        result
    }
}

impl Tables {
    pub(crate) const fn new() -> Tables {
        Tables { keys: Mutex::new(KeyvalRegistry::new()), held: [Held::new(), Held::new(), Held::new()] }
    }

    pub(crate) fn keys(&self) -> MutexGuard<'_, KeyvalRegistry<Callbacks>> {
        locked(&self.keys)
    }

    /// Runs `with` on the attributes of an object; `None` if no object of its kind has any.
    pub(crate) fn existing<R>(&self, on: Object, with: impl FnOnce(&mut Attributes) -> R) -> Option<R> {
        // Relaxed: the program synchronises before it uses a handle on which another thread set an
        // attribute.
        let held = self.of(on);
        (held.objects.load(Relaxed) > 0).then(|| held.attributes(on.handle(), with))
    }

    pub(crate) fn of(&self, on: Object) -> &Held {
        match on.owner() {
            Owner::Comm => &self.held[0],
            Owner::Win => &self.held[1],
            Owner::Datatype => &self.held[2],
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class<T>(result: Result<T>) -> i32 {
        result.err().map_or(MPI_SUCCESS, |error| error.class())
    }

    #[test]
    fn keys_belong_to_a_kind_of_object() {
        let mut registry = KeyvalRegistry::new();
        let comm = registry.create(Owner::Comm, "comm").unwrap();
        let win = registry.create(Owner::Win, "win").unwrap();
        assert!(comm > MPI_UNIVERSE_SIZE && win > MPI_WIN_MODEL && comm != win && comm != MPI_KEYVAL_INVALID);
        assert_eq!(registry.get(Owner::Comm, comm).unwrap().callbacks, "comm");
        assert_eq!(class(registry.get(Owner::Datatype, comm)), MPI_ERR_KEYVAL);
        assert_eq!(class(registry.free(Owner::Comm, win)), MPI_ERR_KEYVAL);
        for wrong in [MPI_KEYVAL_INVALID, MPI_TAG_UB, -1, win + 1, i32::MAX] {
            assert_eq!(class(registry.get(Owner::Comm, wrong)), MPI_ERR_KEYVAL);
        }
        registry.free(Owner::Win, win).unwrap();
        assert_eq!(class(registry.free(Owner::Win, win)), MPI_ERR_KEYVAL);
        assert!(registry.get(Owner::Win, win).unwrap_err().text().contains("freed"));
        assert!(registry.create(Owner::Win, "again").unwrap() > win);
    }

    #[test]
    fn a_freed_key_lives_on_in_its_attributes() {
        let mut registry = KeyvalRegistry::new();
        let number = registry.create(Owner::Comm, String::from("callbacks")).unwrap();
        let mut attributes = Attributes::new();
        attributes.set(Arc::clone(registry.get(Owner::Comm, number).unwrap()), Value::Pointer(7));
        registry.free(Owner::Comm, number).unwrap();
        // Once more while it is in use, and by the right name.
        registry.free(Owner::Comm, number).unwrap();
        assert_eq!(class(registry.free(Owner::Win, number)), MPI_ERR_KEYVAL);
        assert_eq!(attributes.get(number).unwrap().value.as_pointer(), 7);
        let taken = attributes.take(number).unwrap();
        assert_eq!(taken.key.callbacks, "callbacks");
        assert_eq!(Arc::strong_count(&taken.key), 1);
        drop(taken);
        assert_eq!(class(registry.free(Owner::Comm, number)), MPI_ERR_KEYVAL);
        assert!(attributes.is_empty());
    }

    #[test]
    fn attributes_go_in_the_reverse_of_the_order_they_were_set() {
        let mut registry = KeyvalRegistry::new();
        let numbers: Vec<i32> = (0..4).map(|n| registry.create(Owner::Comm, n).unwrap()).collect();
        let key = |n: usize| Arc::clone(registry.get(Owner::Comm, numbers[n]).unwrap());
        let mut attributes = Attributes::new();
        for n in 0..4 {
            assert!(attributes.set(key(n), Value::Pointer(n)).is_none());
        }
        assert_eq!(attributes.set(key(1), Value::Pointer(11)).unwrap().value, Value::Pointer(1));
        assert_eq!(attributes.iter().map(|a| a.key.callbacks).collect::<Vec<_>>(), [0, 2, 3, 1]);
        let last = attributes.take_last().unwrap();
        assert_eq!((last.key.callbacks, last.value.clone()), (1, Value::Pointer(11)));
        attributes.put_back(last);
        let order: Vec<i32> = std::iter::from_fn(|| attributes.take_last()).map(|a| a.key.callbacks).collect();
        assert_eq!(order, [1, 3, 2, 0]);
        assert!(attributes.take(numbers[0]).is_none());
    }

    #[test]
    fn each_language_reads_what_the_other_stored() {
        assert_eq!(Value::Pointer(17).as_pointer(), 17);
        assert_eq!(Value::Pointer(usize::MAX).as_integer(), -1);
        let stored = Value::integer(-7);
        assert_eq!(stored.as_integer(), -7);
        let address = stored.as_pointer();
        let moved = [Value::Pointer(0), stored];
        assert_eq!(moved[1].as_pointer(), address, "the address that C holds must not move with the table");
        let Value::Integer(integer) = &moved[1] else { unreachable!() };
        assert_eq!(&raw const **integer as usize, address);
    }
}
