/** A search over all texts of all requests: where a text first came, and when it went. */
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import type { SearchedTexts } from '../../../protocol/generated';
import type { ItemStates } from '../../../state/inspector/figures/itemStates';
import { stateWords } from '../../../state/inspector/why';
import { count } from '../../../state/text/numberFormat';
import { useHost, type IWords } from '../../host';
import { useText } from '../controls/answers';
import { FoundText } from '../controls/sessionTexts';
import { useInspection } from '../controls/inspection';
import { ItemLink } from '../controls/placeLinks';
import { StepButton } from '../controls/stepButton';

/** Longer than the pause between two typed letters: then the search begins. */
const PAUSE_MS = 300;
/** Changes of one item that its sentence names. */
const MAX_CHANGES = 4;

/** Draws the field, the item that was found, and the steps to the one before and the next. */
export function TextSearch() {
  const { words } = useHost();
  const { source, view, shown, item, go } = useInspection();
  const [searched, setSearched] = useState('');
  const { answer, isWaiting } = useText(
    source,
    searched === '' ? null : { ask: 'search', text: searched },
    PAUSE_MS,
    view.seq
  );
  const found = answer?.search ?? null;
  const rows = found?.items ?? [];
  const index = rows.findIndex(row => row.item === item);
  // The cursor follows as soon as there is time; a key that is pressed again goes on from where the one before led.
  const led = useRef(item);
  useEffect(() => {
    led.current = item;
  }, [item]);
  const step = (by: -1 | 1) => {
    const from = rows.findIndex(row => row.item === led.current);
    const row = rows[from < 0 && by < 0 ? -1 : from + by];
    if (row !== undefined) {
      led.current = row.item;
      const entered = view.items.entered[row.item] ?? 0;
      const last = view.requests.id.length - 1;
      go({ item: row.item, request: Math.min(entered, last), against: null });
    }
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    }
  };
  const row = rows[index];
  return (
    <section
      role="group"
      className="plm-TextSearch"
      aria-label={words.__('Find in all requests')}
      aria-busy={isWaiting}
    >
      <header className="plm-Inspector-head">
        <h3>{words.__('Find in all requests')}</h3>
        <input
          className="plm-Field plm-RequestViewer-find"
          type="search"
          maxLength={300}
          aria-label={words.__('Find in all requests')}
          placeholder={words.__('Words of any text')}
          value={searched}
          onChange={event => {
            setSearched(event.target.value);
          }}
          onKeyDown={onKeyDown}
        />
      </header>
      {searched !== '' && (
        <>
          <div className="plm-Inspector-pages">
            <StepButton
              isAtEnd={index <= 0}
              onStep={() => {
                step(-1);
              }}
            >
              {words.__('Found before')}
            </StepButton>
            <StepButton
              isAtEnd={index + 1 >= rows.length}
              onStep={() => {
                step(1);
              }}
            >
              {words.__('Next found')}
            </StepButton>
            <span className="plm-Muted" role="status">
              {isWaiting
                ? (source.waitSentence ?? words.__('Reading…'))
                : answer?.error || foundWords(found, index, words)}
            </span>
          </div>
          {row !== undefined && (
            <>
              <p>
                <ItemLink item={row.item} />{' '}
                {stayWords(shown.states, row.item, words)}
              </p>
              <pre className="plm-Inspector-text" dir="auto">
                <FoundText text={row.excerpt} find={searched} />
              </pre>
            </>
          )}
        </>
      )}
    </section>
  );
}

/** Returns how many items hold the text, and which of them is shown. */
function foundWords(
  found: SearchedTexts | null,
  index: number,
  words: IWords
): string {
  if (found === null) {
    return '';
  }
  const { items, total, note } = found;
  const holding =
    total === 0
      ? words.__('No text holds it.')
      : index < 0
        ? words._n(
            '%2 item holds it.',
            '%2 items hold it.',
            total,
            count(total)
          )
        : words.__(
            'Item %1 of %2, %3 in it.',
            count(index + 1),
            count(total),
            words._n(
              '%2 place',
              '%2 places',
              items[index]?.count ?? 0,
              count(items[index]?.count ?? 0)
            )
          );
  const left =
    total > items.length
      ? words.__('The first %1 are listed.', count(items.length))
      : '';
  return [holding, left, note].filter(piece => piece !== '').join(' ');
}

/** Returns when an item came, and when it was shown otherwise or no more. */
function stayWords(states: ItemStates, item: number, words: IWords): string {
  const { view } = states;
  const entered = view.items.entered[item] ?? 0;
  if (entered >= view.requests.id.length) {
    return words.__('is in no request yet.');
  }
  const pieces = [words.__('came with request %1', count(entered + 1))];
  const first = states.stateAt(item, entered) ?? 'whole';
  if (first !== 'whole') {
    pieces.push(words.__('%1 from the beginning', stateWords(first)));
  }
  let at = states.nextChange(item, entered);
  while (at !== null && pieces.length < MAX_CHANGES) {
    pieces.push(
      words.__(
        '%1 since request %2',
        stateWords(states.stateAt(item, at) ?? 'out'),
        count(at + 1)
      )
    );
    at = states.nextChange(item, at);
  }
  if (pieces.length === 1) {
    pieces.push(words.__('whole to the end'));
  }
  return `${pieces.join(', ')}${at === null ? '.' : ', …'}`;
}
