//! What somebody may have meant.

/// The candidate that is nearest to what was written, if it is near enough to be a slip.
pub(super) fn nearest<'c>(written: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let written = plain(written);
    let (distance, best) = candidates
        .into_iter()
        .map(|one| match plain(one) {
            // `azure` for `azure-openai`
            long if written.len() > 2 && long.starts_with(&written) => (1, one),
            other => (distance(&written, &other), one),
        })
        .min_by_key(|(distance, _)| *distance)?;
    let length = best.chars().count().min(written.chars().count());
    let slack = (1 + length / 4).min(3);
    // A word of which nothing is left is another word.
    (distance <= slack && distance < length).then_some(best)
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &str, b: &str) -> usize {
    // A bound on the work: nobody misspells by more than that.
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut left_of_a = None;
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        let mut left_of_b = None;
        for (j, &y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let mut best =
                (at(&last, j) + usize::from(x != y)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            if left_of_a == Some(y) && left_of_b == Some(x) {
                best = best.min(at(&before, j.saturating_sub(1)) + 1);
            }
            row.push(best);
            left_of_b = Some(y);
        }
        before = last;
        last = row;
        left_of_a = Some(x);
    }
    last.last().copied().unwrap_or(0)
}
