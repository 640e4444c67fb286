/** The added, removed and rewritten items between two requests; for a rewritten one, its text in both requests. */
import { useState } from 'react';
import { count } from '../../../state/text/numberFormat';
import type { IChangedItem } from '../../../state/inspector/figures/difference';
import { stateWords } from '../../../state/inspector/why';
import { Disclosure } from '../../controls/disclosure';
import { useHost } from '../../host';
import { useText } from '../controls/answers';
import { useInspection } from '../controls/inspection';
import { FoldedRest } from '../controls/foldedRest';
import { ItemLink } from '../controls/placeLinks';
import { BoxedText, MissingText } from '../controls/sessionTexts';

const MAX_FOLDED_ROWS = 8;
const MAX_ROWS = 500;
/** How much of a text is shown beside its other form. */
const MAX_CHARS = 4_000;

interface IChangedItemsProps {
  sign: string;
  name: string;
  changes: readonly IChangedItem[];
  fromRequest: number;
  toRequest: number;
}

/** Draws a row for each added, removed or rewritten item; a button unfolds those after the first few. */
export function ChangedItems(props: IChangedItemsProps) {
  const { sign, name, changes, fromRequest, toRequest } = props;
  const { words } = useHost();
  const { shownTrack: shownTrack } = useInspection();
  const [isUnfolded, setUnfolded] = useState(false);
  if (changes.length === 0) {
    return null;
  }
  const isRewritten = sign === '~';
  const rows = changes.slice(0, isUnfolded ? MAX_ROWS : MAX_FOLDED_ROWS);
  return (
    <>
      <ul className="plm-Difference-rows" aria-label={name}>
        {rows.map(({ item, tokensBefore: before, tokensSince: since }) => (
          <li key={item}>
            <span
              className="plm-Difference-sign"
              data-sign={sign}
              aria-hidden="true"
            >
              {sign}
            </span>
            <span className="plm-Hidden">{name}</span>
            <ItemLink item={item} />
            <span className="plm-Inspector-number">
              {isRewritten
                ? words.__(
                    '%1 · %2 → %3',
                    stateWords(
                      shownTrack.states.stateAt(item, toRequest) ?? 'whole'
                    ),
                    count(before),
                    count(since)
                  )
                : count(sign === '+' ? since : before)}
            </span>
            {isRewritten && (
              <Disclosure
                className="plm-Difference-texts"
                head={words.__('What changed')}
              >
                <ShownText item={item} request={fromRequest} />
                <ShownText item={item} request={toRequest} />
              </Disclosure>
            )}
          </li>
        ))}
      </ul>
      {changes.length > MAX_FOLDED_ROWS && (
        <FoldedRest
          isUnfolded={isUnfolded}
          moreLabel={words.__(
            '%1 more %2',
            changes.length - MAX_FOLDED_ROWS,
            name
          )}
          onFold={setUnfolded}
        />
      )}
    </>
  );
}

/** Draws the text that a request shows of an item. */
function ShownText({ item, request }: { item: number; request: number }) {
  const { words } = useHost();
  const { source, shownTrack: shownTrack } = useInspection();
  const { answer } = useText(source, {
    ask: 'item',
    item,
    request,
    policy: shownTrack.policy,
    numbers: shownTrack.numbers,
    offset: 0
  });
  const itemAnswer = answer?.item ?? null;
  if (itemAnswer === null) {
    return <MissingText answer={answer} />;
  }
  const name = words.__('Request %1 shows', request + 1);
  const isWhole =
    (shownTrack.states.stateAt(item, request) ?? 'whole') === 'whole';
  const shownText = itemAnswer.shown ?? (isWhole ? itemAnswer.text : '');
  return (
    <>
      <p className="plm-Muted">{name}</p>
      <BoxedText label={name}>
        {shownText === ''
          ? isWhole
            ? words.__('No text of it was kept here.')
            : words.__('What was shown instead is not kept here.')
          : shownText.length > MAX_CHARS
            ? `${shownText.slice(0, MAX_CHARS)}…`
            : shownText}
      </BoxedText>
    </>
  );
}
