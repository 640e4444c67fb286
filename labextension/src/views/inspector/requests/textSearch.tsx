/** A search over all texts of all requests: where a text first came, and when it went. */
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import type { SearchedTexts } from '../../../protocol/generated';
import type { ItemStates } from '../../../state/inspector/figures/itemStates';
import { stateWords } from '../../../state/inspector/why';
import { count } from '../../../state/text/numberFormat';
import { useHost, type IWords } from '../../host';
import { useText } from '../controls/answers';
import { MarkedText, MAX_QUERY_CHARS } from '../controls/sessionTexts';
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
  const { source, view, shownTrack, item, goTo } = useInspection();
  const [query, setQuery] = useState('');
  const { answer, isWaiting } = useText(
    source,
    query === '' ? null : { ask: 'search', text: query },
    PAUSE_MS,
    view.seq
  );
  const searchedTexts = answer?.search ?? null;
  const rows = searchedTexts?.items ?? [];
  const rowIndex = rows.findIndex(row => row.item === item);
  // The cursor follows as soon as there is time; a key that is pressed again goes on from where the one before led.
  const ledItem = useRef(item);
  useEffect(() => {
    ledItem.current = item;
  }, [item]);
  const goToMatch = (direction: -1 | 1) => {
    const startIndex = rows.findIndex(row => row.item === ledItem.current);
    const row =
      rows[startIndex < 0 && direction < 0 ? -1 : startIndex + direction];
    if (row !== undefined) {
      ledItem.current = row.item;
      const enteredRequest = view.items.entered[row.item] ?? 0;
      const lastRequest = view.requests.id.length - 1;
      goTo({
        item: row.item,
        request: Math.min(enteredRequest, lastRequest),
        against: null
      });
    }
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      goToMatch(event.shiftKey ? -1 : 1);
    }
  };
  const row = rows[rowIndex];
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
          maxLength={MAX_QUERY_CHARS}
          aria-label={words.__('Find in all requests')}
          placeholder={words.__('Words of any text')}
          value={query}
          onChange={event => {
            setQuery(event.target.value);
          }}
          onKeyDown={onKeyDown}
        />
      </header>
      {query !== '' && (
        <>
          <div className="plm-Inspector-pages">
            <StepButton
              isAtEnd={rowIndex <= 0}
              onStep={() => {
                goToMatch(-1);
              }}
            >
              {words.__('Found before')}
            </StepButton>
            <StepButton
              isAtEnd={rowIndex + 1 >= rows.length}
              onStep={() => {
                goToMatch(1);
              }}
            >
              {words.__('Next found')}
            </StepButton>
            <span className="plm-Muted" role="status">
              {isWaiting
                ? (source.waitSentence ?? words.__('Reading…'))
                : answer?.error || matchWords(searchedTexts, rowIndex, words)}
            </span>
          </div>
          {row !== undefined && (
            <>
              <p>
                <ItemLink item={row.item} />{' '}
                {stayWords(shownTrack.states, row.item, words)}
              </p>
              <pre className="plm-Inspector-text" dir="auto">
                <MarkedText text={row.excerpt} query={query} />
              </pre>
            </>
          )}
        </>
      )}
    </section>
  );
}

/** Returns how many items hold the text, and which of them is shown. */
function matchWords(
  searchedTexts: SearchedTexts | null,
  index: number,
  words: IWords
): string {
  if (searchedTexts === null) {
    return '';
  }
  const { items, total, note } = searchedTexts;
  const holdingWords =
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
  const listedWords =
    total > items.length
      ? words.__('The first %1 are listed.', count(items.length))
      : '';
  return [holdingWords, listedWords, note]
    .filter(sentence => sentence !== '')
    .join(' ');
}

/** Returns when an item came, and when it was shown otherwise or no more. */
function stayWords(states: ItemStates, item: number, words: IWords): string {
  const { view } = states;
  const enteredRequest = view.items.entered[item] ?? 0;
  if (enteredRequest >= view.requests.id.length) {
    return words.__('is in no request yet.');
  }
  const pieces = [words.__('came with request %1', count(enteredRequest + 1))];
  const firstState = states.stateAt(item, enteredRequest) ?? 'whole';
  if (firstState !== 'whole') {
    pieces.push(words.__('%1 from the beginning', stateWords(firstState)));
  }
  let changedRequest = states.nextChange(item, enteredRequest);
  while (changedRequest !== null && pieces.length < MAX_CHANGES) {
    pieces.push(
      words.__(
        '%1 since request %2',
        stateWords(states.stateAt(item, changedRequest) ?? 'out'),
        count(changedRequest + 1)
      )
    );
    changedRequest = states.nextChange(item, changedRequest);
  }
  if (pieces.length === 1) {
    pieces.push(words.__('whole to the end'));
  }
  return `${pieces.join(', ')}${changedRequest === null ? '.' : ', …'}`;
}
