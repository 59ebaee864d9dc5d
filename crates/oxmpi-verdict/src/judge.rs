//! Asks ranks that seem to be stuck, twice.

use crate::{State, stuck};
use oxmpi_base::rest_record::Answer;
use std::time::{Duration, Instant};

/// The ranks of a job, as the judge sees and asks them.
pub trait Job {
    /// Whether any rank has published a record; a quick look.
    fn has_records(&self) -> bool;

    /// What is known of each rank.
    fn states(&self) -> Vec<State>;

    /// Asks ranks, and wakes them. What this process has read before is older than what they do then.
    fn ask(&self, ranks: &[usize], question: u64);

    /// The answer of a rank to a question, once it has given it.
    fn answer(&self, rank: usize, question: u64) -> Option<Answer>;
}

/// Between two looks at the records.
const LOOK: Duration = Duration::from_millis(100);
/// Between two looks for answers.
const ANSWERS: Duration = Duration::from_millis(2);
/// A rank that has not answered by then does something else, or waits for a CPU: after each trial without an answer of all the
/// next one takes twice as long.
const PATIENCE: Duration = Duration::from_secs(1);
const LONGEST_PATIENCE: Duration = Duration::from_secs(16);

/// Questions for each suspicion.
const QUESTIONS: usize = 2;

#[derive(Debug)]
pub struct Judge {
    next: Instant,
    /// The number of the last question.
    question: u64,
    trial: Option<Trial>,
    /// How long the ranks have to answer.
    patience: Duration,
}

/// Ranks that seem to be stuck, with the numbers of their records.
#[derive(Debug)]
struct Trial {
    suspects: Vec<(usize, u64)>,
    asked: usize,
    /// The frames that they had received from each other when they answered the question before.
    received: u64,
    until: Instant,
}

impl Trial {
    fn ranks(&self) -> Vec<usize> {
        self.suspects.iter().map(|&(rank, _)| rank).collect()
    }
}

impl Judge {
    pub fn new(now: Instant) -> Judge {
        Judge { next: now + LOOK, question: 0, trial: None, patience: PATIENCE }
    }

    /// When to call [`Judge::turn`] again.
    pub fn deadline(&self) -> Instant {
        self.next
    }

    /// Looks and asks. Returns the ranks that are stuck, and what was known of all ranks, once that is certain; not the ranks
    /// that `known` has.
    pub fn turn(&mut self, job: &impl Job, known: &[usize], now: Instant) -> Option<(Vec<usize>, Vec<State>)> {
        if now < self.next {
            return None;
        }
        self.next = now + LOOK;
        let Some(trial) = &mut self.trial else {
            self.begin(job, known, now);
            return None;
        };
        let mut is_whole = true;
        let mut has_moved = false;
        let (mut sent, mut received) = (0_u64, 0_u64);
        for &(rank, number) in &trial.suspects {
            match job.answer(rank, self.question) {
                Some(answer) => {
                    has_moved |= answer.number != number;
                    sent = sent.wrapping_add(answer.sent);
                    received = received.wrapping_add(answer.received);
                }
                None => is_whole = false,
            }
        }
        // Between the questions, some frame had been sent by one of them, and not been taken from the network by another.
        let is_under_way = is_whole && trial.asked == QUESTIONS && sent != trial.received;
        if has_moved || is_under_way {
            self.trial = None;
            self.next = now + 2 * LOOK;
            return None;
        }
        if !is_whole {
            // Answers that are there count, however late this process looks at them.
            self.next = now + ANSWERS;
            if now > trial.until {
                self.trial = None;
                self.next = now + LOOK;
                self.patience = (2 * self.patience).min(LONGEST_PATIENCE);
            }
            return None;
        }
        if trial.asked < QUESTIONS {
            trial.asked += 1;
            trial.received = received;
            trial.until = now + self.patience;
            self.question += 1;
            job.ask(&trial.ranks(), self.question);
            self.next = now + ANSWERS;
            return None;
        }
        let suspects = self.trial.take()?.suspects;
        // The answers are about these records: if one is gone, its rank moved after all.
        let states = job.states();
        let is_up = |&(rank, number): &(usize, u64)| matches!(states.get(rank), Some(State::Resting(resting)) if resting.number == number);
        let all = suspects.iter().all(is_up);
        all.then(|| (suspects.into_iter().map(|(rank, _)| rank).collect(), states))
    }

    fn begin(&mut self, job: &impl Job, known: &[usize], now: Instant) {
        if !job.has_records() {
            return;
        }
        let states = job.states();
        let suspects = stuck(&states);
        if suspects.is_empty() || suspects == known {
            return;
        }
        let number = |rank: usize| match &states[rank] {
            State::Resting(resting) => (rank, resting.number),
            _ => (rank, 0),
        };
        let suspects: Vec<(usize, u64)> = suspects.into_iter().map(number).collect();
        self.question += 1;
        let trial = Trial { suspects, asked: 1, received: 0, until: now + self.patience };
        job.ask(&trial.ranks(), self.question);
        self.trial = Some(trial);
        self.next = now + ANSWERS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resting;
    use std::cell::RefCell;

    /// Ranks that answer as they are told: the number of the record, for each question.
    struct Told {
        states: RefCell<Vec<State>>,
        asked: RefCell<Vec<(usize, u64)>>,
        answers: fn(usize, u64) -> Option<u64>,
        /// Sent and received, for the first question of a trial and for the second.
        frames: [[(u64, u64); 2]; 2],
    }

    impl Job for Told {
        fn has_records(&self) -> bool {
            true
        }

        fn states(&self) -> Vec<State> {
            self.states.borrow().clone()
        }

        fn ask(&self, ranks: &[usize], question: u64) {
            self.asked.borrow_mut().extend(ranks.iter().map(|&rank| (rank, question)));
        }

        fn answer(&self, rank: usize, question: u64) -> Option<Answer> {
            let (sent, received) = self.frames[usize::from(question.is_multiple_of(2))][rank];
            Some(Answer { number: (self.answers)(rank, question)?, sent, received })
        }
    }

    fn two(answers: fn(usize, u64) -> Option<u64>) -> Told {
        let rests = |other| State::Resting(Resting { number: 5, needs: vec![(other, 1)], ended_only: false });
        Told {
            states: vec![rests(1), rests(0)].into(),
            asked: Vec::new().into(),
            answers,
            frames: [[(3, 1), (1, 3)]; 2],
        }
    }

    fn verdict(job: &Told, known: &[usize]) -> Option<Vec<usize>> {
        let start = Instant::now();
        let mut judge = Judge::new(start);
        (0..2000).find_map(|step| judge.turn(job, known, start + Duration::from_millis(step))).map(|(stuck, _)| stuck)
    }

    #[test]
    fn two_equal_answers_are_believed() {
        let job = two(|_, _| Some(5));
        assert_eq!(verdict(&job, &[]), Some(vec![0, 1]));
        assert_eq!(*job.asked.borrow(), [(0, 1), (1, 1), (0, 2), (1, 2)]);
        assert_eq!(verdict(&job, &[0, 1]), None, "known already");
    }

    /// A judge that gets a CPU once in three seconds comes to the same verdict.
    #[test]
    fn a_judge_that_is_late_believes_the_answers() {
        let (job, start) = (two(|_, _| Some(5)), Instant::now());
        let mut judge = Judge::new(start);
        let found = (1..5).find_map(|turn| judge.turn(&job, &[], start + Duration::from_secs(3 * turn)));
        assert_eq!(found.map(|(stuck, _)| stuck), Some(vec![0, 1]));
    }

    /// Ranks that need longer than a second to answer get more time with each trial.
    #[test]
    fn ranks_that_are_slow_are_given_more_time() {
        let (job, start) = (two(|_, question| (question > 3).then_some(5)), Instant::now());
        let mut judge = Judge::new(start);
        let mut steps = (0..60_000).map(|step| start + Duration::from_millis(step));
        let found = steps.find(|&now| judge.turn(&job, &[], now).is_some()).unwrap();
        // Three trials in vain, of 1, 2 and 4 seconds.
        assert!((7000..7600).contains(&(found - start).as_millis()), "{:?}", found - start);
    }

    #[test]
    fn anything_else_is_not() {
        assert_eq!(verdict(&two(|_, _| None), &[]), None, "no answer");
        assert_eq!(verdict(&two(|rank, question| (rank == 0 || question == 1).then_some(5)), &[]), None);
        assert_eq!(
            verdict(&two(|rank, question| Some(5 + u64::from(rank == 1 && question > 1))), &[]),
            None,
            "it moved"
        );
        let at_first = [(4, 1), (1, 3)];
        let under_way = Told { frames: [at_first; 2], ..two(|_, _| Some(5)) };
        assert_eq!(verdict(&under_way, &[]), None, "a frame is on the network");
        // It came between the answers to the first question and to the second.
        let came = Told { frames: [at_first, [(4, 1), (1, 4)]], ..two(|_, _| Some(5)) };
        assert_eq!(verdict(&came, &[]), None, "perhaps it was sent after the first answer of its sender");
        let free = two(|_, _| Some(5));
        free.states.borrow_mut()[1] = State::Free;
        assert_eq!(verdict(&free, &[]), None);
        assert!(free.asked.borrow().is_empty(), "nobody is disturbed");
    }
}
