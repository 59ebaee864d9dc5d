//! The members of categories: one contains the others, which contain variables and events. None is
//! ever added.

pub use super::category::{CATEGORIES, Category};
use super::cvars::CVARS;
use super::events::EVENTS;
use super::pvars::PVARS;

impl Category {
    pub fn cvars(self) -> impl Iterator<Item = i32> {
        (0..).zip(&CVARS).filter(move |(_, cvar)| cvar.category == self).map(|(index, _)| index)
    }

    pub fn pvars(self) -> impl Iterator<Item = i32> {
        (0..).zip(&PVARS).filter(move |(_, pvar)| pvar.category == self).map(|(index, _)| index)
    }

    pub fn events(self) -> impl Iterator<Item = i32> {
        (0..).zip(&EVENTS).filter(move |(_, event)| event.category == self).map(|(index, _)| index)
    }

    pub fn categories(self) -> impl Iterator<Item = i32> {
        (1..CATEGORIES.len() as i32).filter(move |_| self == Category::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_but_the_first_has_members_and_every_member_one_category() {
        for (index, &category) in CATEGORIES.iter().enumerate() {
            assert_eq!(category as usize, index);
            let members = category.cvars().count() + category.pvars().count() + category.events().count();
            assert_eq!(members == 0, category == Category::All, "{category:?}");
        }
        assert_eq!(CATEGORIES.iter().map(|category| category.cvars().count()).sum::<usize>(), CVARS.len());
        assert_eq!(CATEGORIES.iter().map(|category| category.pvars().count()).sum::<usize>(), PVARS.len());
    }
}
