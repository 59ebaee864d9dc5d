//! Attributes of communicators, windows and datatypes: the keys of one library, the attributes of
//! its objects, and the callbacks of the program that decide when an attribute is copied or
//! deleted. `attributes.rs` has the tables.
//!
//! A callback may call MPI and change the attributes that are being iterated, so none is called
//! with a lock held: one attribute is taken out or read, the lock is released, and then the
//! callback runs. Callers must not hold a guard, except for [`Library::attribute`], which calls
//! nothing.

use crate::attributes::{Attribute, AttributeCall, Attributes, Callbacks, Object, OnCopy, Owner, Value};
use crate::library::Library;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result};

impl Library {
    /// A new key for attributes of objects of one kind.
    pub fn create_key(&self, owner: Owner, callbacks: Callbacks) -> Result<i32> {
        self.attribute_tables().keys().create(owner, callbacks)
    }

    pub fn free_key(&self, owner: Owner, number: i32) -> Result<()> {
        self.attribute_tables().keys().free(owner, number)
    }

    /// Sets an attribute. An existing one is deleted first, and stays when its callback refuses.
    pub fn set_attribute(&self, on: Object, number: i32, value: Value) -> Result<()> {
        let tables = self.attribute_tables();
        let key = tables.keys().get(on.owner(), number)?.clone();
        if let Some(old) = tables.existing(on, |attributes| attributes.take(number)).flatten() {
            self.release(on, old)?;
        }
        tables.of(on).attributes(on.handle(), |attributes| attributes.set(key, value));
        Ok(())
    }

    /// What C reads of an attribute; `None` when the object has none for this key.
    pub fn attribute(&self, on: Object, number: i32) -> Result<Option<usize>> {
        let tables = self.attribute_tables();
        let read = |attributes: &mut Attributes| attributes.get(number).map(|found| found.value.as_pointer());
        match tables.existing(on, read).flatten() {
            Some(value) => Ok(Some(value)),
            // An unknown key is an error, a key without an attribute is not.
            None => tables.keys().get(on.owner(), number).map(|_| None),
        }
    }

    pub fn delete_attribute(&self, on: Object, number: i32) -> Result<()> {
        let tables = self.attribute_tables();
        match tables.existing(on, |attributes| attributes.take(number)).flatten() {
            Some(found) => self.release(on, found),
            None => {
                tables.keys().get(on.owner(), number)?;
                Err(Error::new(MPI_ERR_KEYVAL, format!("there is no attribute with the key {number}")))
            }
        }
    }

    /// Deletes all attributes, the latest first; stops at a callback that refuses.
    pub fn delete_attributes(&self, on: Object) -> Result<()> {
        while let Some(last) = self.attribute_tables().existing(on, Attributes::take_last).flatten() {
            self.release(on, last)?;
        }
        Ok(())
    }

    /// The attributes of a duplicate, as the copy callbacks decide.
    pub fn copy_attributes(&self, from: Object) -> Result<Attributes> {
        let mut copies = Attributes::new();
        let list = |attributes: &mut Attributes| attributes.iter().cloned().collect();
        let originals: Vec<Attribute<Callbacks>> = self.attribute_tables().existing(from, list).unwrap_or_default();
        for original in originals {
            let key = original.key.number;
            let call = AttributeCall { object: from.handle(), key, value: original.value.as_pointer() };
            let value = match &original.key.callbacks.copy {
                OnCopy::Nothing => continue,
                OnCopy::Same => original.value.clone(),
                OnCopy::Ask(function) => match self.call_user(|| function(call)) {
                    Ok(Some(value)) => Value::Pointer(value),
                    Ok(None) => continue,
                    Err(code) => return Err(self.refused(code, "copy", key)),
                },
            };
            copies.set(original.key, value);
        }
        Ok(copies)
    }

    /// Gives a duplicate the attributes that [`copy_attributes`](Library::copy_attributes) made for it.
    pub fn adopt_attributes(&self, on: Object, copies: Attributes) {
        if !copies.is_empty() {
            self.attribute_tables().of(on).attributes(on.handle(), |attributes| *attributes = copies);
        }
    }

    /// Calls the delete callback of an attribute that was taken out; restores it when the callback
    /// refuses.
    fn release(&self, on: Object, attribute: Attribute<Callbacks>) -> Result<()> {
        let Some(function) = &attribute.key.callbacks.delete else { return Ok(()) };
        let key = attribute.key.number;
        let call = AttributeCall { object: on.handle(), key, value: attribute.value.as_pointer() };
        let Err(code) = self.call_user(|| function(call)) else { return Ok(()) };
        self.attribute_tables().of(on).attributes(on.handle(), |attributes| attributes.put_back(attribute));
        Err(self.refused(code, "delete", key))
    }

    /// The result of a callback as an error: a code of the program stays as it is.
    #[cold]
    fn refused(&self, code: i32, which: &str, key: i32) -> Error {
        let class = self.errors().class_of(code).unwrap_or(MPI_ERR_OTHER);
        let class = if code > MPI_ERR_LASTCODE { code } else { class };
        Error::new(class, format!("the {which} callback of attribute key {key} returned {code}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{CopyFn, DeleteFn};
    use oxmpi_abi::handle::{Comm, Win};
    use std::sync::Arc;

    fn on(handle: usize) -> Object {
        Object::Comm(Comm(handle))
    }

    fn callbacks(copy: OnCopy, delete: Option<DeleteFn>) -> Callbacks {
        Callbacks { copy, delete }
    }

    #[test]
    fn a_duplicate_gets_what_the_callbacks_say() {
        let library = Library::new();
        let ask: CopyFn = Box::new(|call| Ok((call.value > 1).then_some(call.value * 10)));
        let kinds = [OnCopy::Nothing, OnCopy::Same, OnCopy::Ask(ask)];
        let keys = kinds.map(|copy| library.create_key(Owner::Comm, callbacks(copy, None)).unwrap());
        for (value, key) in (1..).zip(keys) {
            library.set_attribute(on(7), key, Value::Pointer(value)).unwrap();
        }
        let copies = library.copy_attributes(on(7)).unwrap();
        library.adopt_attributes(on(8), copies);
        assert_eq!(keys.map(|key| library.attribute(on(8), key).unwrap()), [None, Some(2), Some(30)]);
        assert_eq!(library.attribute(on(9), keys[1]), Ok(None));
        assert!(library.attribute(Object::Win(Win(8)), keys[1]).is_err(), "the key is not for windows");
    }

    #[test]
    fn a_callback_that_refuses_keeps_the_attribute() {
        let library = Arc::new(Library::new());
        let delete: DeleteFn = Box::new(|call| if call.value == 5 { Err(MPI_ERR_ARG) } else { Ok(()) });
        let key = library.create_key(Owner::Comm, callbacks(OnCopy::Same, Some(delete))).unwrap();
        library.set_attribute(on(1), key, Value::Pointer(5)).unwrap();
        for refused in [
            library.delete_attribute(on(1), key),
            library.delete_attributes(on(1)),
            library.set_attribute(on(1), key, Value::Pointer(6)),
        ] {
            let error = refused.unwrap_err();
            assert_eq!(error.class(), MPI_ERR_ARG);
            assert!(error.text().contains("delete callback"), "{error}");
        }
        assert_eq!(library.attribute(on(1), key), Ok(Some(5)));
    }

    #[test]
    fn a_callback_may_use_the_attributes_that_are_being_deleted() {
        // Leaked, so that the callback can hold a reference to it.
        let library: &'static Library = Box::leak(Box::new(Library::new()));
        let key = library.create_key(Owner::Comm, callbacks(OnCopy::Same, None)).unwrap();
        let delete: DeleteFn =
            Box::new(move |call| library.set_attribute(on(call.object), key, Value::Pointer(3)).map_err(|_| 1));
        let setting = library.create_key(Owner::Comm, callbacks(OnCopy::Same, Some(delete))).unwrap();
        library.set_attribute(on(1), setting, Value::Pointer(0)).unwrap();
        library.delete_attributes(on(1)).unwrap();
        assert_eq!([library.attribute(on(1), key), library.attribute(on(1), setting)], [Ok(None), Ok(None)]);
        assert!(library.delete_attribute(on(1), key).is_err());
    }
}
