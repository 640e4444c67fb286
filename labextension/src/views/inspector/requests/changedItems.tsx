/** The items that came, went or changed between two requests; of a changed one also what each shows. */
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

const FIRST_ROWS = 8;
const MAX_ROWS = 500;
/** How much of a text is shown beside its other form. */
const MAX_CHARS = 4_000;

interface IChangedItemsProps {
  sign: string;
  name: string;
  changes: readonly IChangedItem[];
  from: number;
  to: number;
}

/** Draws a row for each changed item; a button unfolds those after the first few. */
export function ChangedItems(props: IChangedItemsProps) {
  const { sign, name, changes, from, to } = props;
  const { words } = useHost();
  const { shown } = useInspection();
  const [isUnfolded, setUnfolded] = useState(false);
  if (changes.length === 0) {
    return null;
  }
  const isRewritten = sign === '~';
  const rows = changes.slice(0, isUnfolded ? MAX_ROWS : FIRST_ROWS);
  return (
    <>
      <ul className="plm-Difference-rows" aria-label={name}>
        {rows.map(({ item, before, since }) => (
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
                    stateWords(shown.states.stateAt(item, to) ?? 'whole'),
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
                <ShownText item={item} request={from} />
                <ShownText item={item} request={to} />
              </Disclosure>
            )}
          </li>
        ))}
      </ul>
      {changes.length > FIRST_ROWS && (
        <FoldedRest
          isUnfolded={isUnfolded}
          more={words.__('%1 more %2', changes.length - FIRST_ROWS, name)}
          onFold={setUnfolded}
        />
      )}
    </>
  );
}

/** Draws the text that a request shows of an item. */
function ShownText({ item, request }: { item: number; request: number }) {
  const { words } = useHost();
  const { source, shown } = useInspection();
  const { answer } = useText(source, {
    ask: 'item',
    item,
    request,
    policy: shown.policy,
    numbers: shown.numbers,
    offset: 0
  });
  const text = answer?.item ?? null;
  if (text === null) {
    return <MissingText answer={answer} />;
  }
  const name = words.__('Request %1 shows', request + 1);
  const isWhole = (shown.states.stateAt(item, request) ?? 'whole') === 'whole';
  const shownText = text.shown ?? (isWhole ? text.text : '');
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
