/**
 * The grade of a summary before a request used it: how many names of each kind it keeps, and which it does
 * not. What is needed later nobody knows yet, so what is likely is marked as an estimate.
 */
import type { Decision } from '../../protocol/generated';
import { gradeOf, type IGradedKind } from '../../state/lines/summaryGrade';
import { count } from '../../state/text/numberFormat';
import { Disclosure } from '../controls/disclosure';
import { useHost, type IWords } from '../host';

/** Draws the names that a summary does not keep, by kind; nothing where the log holds no grade, or nothing was lost. */
export function SummaryGrade({ decision }: { decision: Decision }) {
  const { words } = useHost();
  const lossyKinds = gradeOf(decision).filter(graded => graded.lostCount > 0);
  if (lossyKinds.length === 0) {
    return null;
  }
  return (
    <Disclosure
      className="plm-SummaryGrade"
      head={words.__(
        'What it does not keep: %1 names',
        count(lossyKinds.reduce((sum, graded) => sum + graded.lostCount, 0))
      )}
    >
      <dl>
        {lossyKinds.map(graded => (
          <div key={graded.kind}>
            <dt>{kindText(graded, words)}</dt>
            <dd>
              <GradedNames kind={graded} />
            </dd>
          </div>
        ))}
      </dl>
    </Disclosure>
  );
}

/** Returns what a summary keeps, such as "keeps 41 of 52 paths, 3 of 9 errors"; empty without a grade. */
export function gradeText(decision: Decision, words: IWords): string {
  const counts = gradeOf(decision)
    .map(graded =>
      words.__(
        '%1 of %2 %3',
        count(graded.foundCount - graded.lostCount),
        count(graded.foundCount),
        graded.kind
      )
    )
    .join(', ');
  return counts === '' ? '' : words.__('keeps %1', counts);
}

function kindText(
  { kind, lostCount: lost, foundCount: found }: IGradedKind,
  words: IWords
): string {
  return words.__('%1: %2 of %3 not kept', kind, count(lost), count(found));
}

function GradedNames({
  kind: { names, likelyCount: likely, lostCount: lost }
}: {
  kind: IGradedKind;
}) {
  const { words } = useHost();
  const moreCount = lost - names.length;
  return (
    <ul>
      {names.map((name, index) => (
        <li key={name}>
          <bdi>{name}</bdi>
          {index < likely && (
            <>
              {' '}
              <em>{words.__('likely to be needed (an estimate)')}</em>
            </>
          )}
        </li>
      ))}
      {moreCount > 0 && <li>{words.__('and %1 more', count(moreCount))}</li>}
    </ul>
  );
}
