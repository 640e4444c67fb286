/** The exact request, or what a policy would have sent, block by block and searchable. */
import { useId, useState } from 'react';
import type { BlockView } from '../../../protocol/generated';
import { count } from '../../../state/display/numberFormat';
import { stateWords } from '../../../state/inspector/why';
import { useHost } from '../../host';
import { useAnswer } from '../controls/answers';
import { useInspection } from '../controls/inspection';
import { ItemLink } from '../controls/placeLinks';
import { kindWords } from '../timeline/kinds';

/** Draws the blocks of the request at the cursor. */
export function RequestViewer() {
  const { words } = useHost();
  const { source, shown, request } = useInspection();
  const [find, setFind] = useState('');
  const [piece, setPiece] = useState({ key: '', first: 0 });
  const key = `${shown.track.policy} ${request} ${find}`;
  const first = piece.key === key ? piece.first : 0;
  const { answer, isWaiting } = useAnswer(
    source,
    {
      ask: 'request',
      request,
      policy: shown.policy,
      numbers: shown.numbers,
      find,
      first
    },
    200
  );
  const text = answer?.request ?? null;
  const field = useId();
  const last = first + (text?.blocks.length ?? 0);
  return (
    <section
      className="plm-RequestViewer"
      aria-label={words.__('The request as it is sent')}
      aria-busy={isWaiting}
    >
      <header className="plm-Inspector-head">
        <h3>{words.__('Request %1, as it is sent', request + 1)}</h3>
        <label htmlFor={field} className="plm-Hidden">
          {words.__('Find in the request')}
        </label>
        <input
          id={field}
          className="plm-Field plm-RequestViewer-find"
          type="search"
          maxLength={300}
          placeholder={words.__('Find in the request')}
          value={find}
          onChange={event => {
            setFind(event.target.value);
          }}
        />
      </header>
      {text === null ? (
        <p className="plm-Muted" role="status">
          {answer?.error || (source.waits ?? words.__('Reading…'))}
        </p>
      ) : (
        <>
          <p className="plm-Muted" role="status">
            <bdi>{text.note}</bdi>{' '}
            {words.__(
              '%1 blocks, %2 tokens.',
              count(text.total),
              count(text.tokens)
            )}
          </p>
          <ol className="plm-RequestViewer-blocks" start={first + 1}>
            {text.blocks.map((block, place) => (
              <RequestBlock key={first + place} block={block} find={find} />
            ))}
          </ol>
          {text.total > text.blocks.length && (
            <div className="plm-Inspector-pages">
              <button
                type="button"
                className="plm-Button plm-Button-small"
                disabled={first === 0}
                onClick={() => {
                  setPiece({ key, first: 0 });
                }}
              >
                {words.__('First blocks')}
              </button>
              <span className="plm-Muted">
                {words.__('%1 to %2 of %3', first + 1, last, count(text.total))}
              </span>
              <button
                type="button"
                className="plm-Button plm-Button-small"
                disabled={last >= text.total}
                onClick={() => {
                  setPiece({ key, first: last });
                }}
              >
                {words.__('Next blocks')}
              </button>
            </div>
          )}
        </>
      )}
    </section>
  );
}

function RequestBlock({ block, find }: { block: BlockView; find: string }) {
  const { words } = useHost();
  const item = block.item ?? null;
  const isCut = block.text.length < block.chars;
  return (
    <li className="plm-RequestViewer-block">
      <div className="plm-RequestViewer-about">
        <span
          className="plm-Inspector-square plm-Kind"
          data-kind={block.kind}
        />
        <strong>{block.role}</strong>
        <span className="plm-Muted">{kindWords(block.kind, words)}</span>
        {item !== null && <ItemLink item={item} />}
        {block.state !== 'whole' && (
          <span className="plm-Chip">{stateWords(block.state)}</span>
        )}
        <span className="plm-Muted plm-Inspector-number">
          {words.__('%1 tokens', count(block.tokens))}
        </span>
      </div>
      <pre className="plm-Inspector-text" dir="auto">
        <Found text={block.text} find={find} />
        {isCut && '…'}
      </pre>
    </li>
  );
}

/** Marks where a text holds what is looked for. */
function Found({ text, find }: { text: string; find: string }) {
  if (find === '') {
    return <>{text}</>;
  }
  const pieces: { text: string; isFound: boolean }[] = [];
  const where = text.toLowerCase();
  const wanted = find.toLowerCase();
  let from = 0;
  // Letters whose lower case is longer would shift the places.
  const isSafe = where.length === text.length;
  for (
    let at = isSafe ? where.indexOf(wanted) : -1;
    at >= 0;
    at = where.indexOf(wanted, from)
  ) {
    pieces.push({ text: text.slice(from, at), isFound: false });
    from = at + wanted.length;
    pieces.push({ text: text.slice(at, from), isFound: true });
  }
  pieces.push({ text: text.slice(from), isFound: false });
  return (
    <>
      {pieces.map((piece, place) =>
        piece.isFound ? <mark key={place}>{piece.text}</mark> : piece.text
      )}
    </>
  );
}
