/** The exact request, or what a policy would have sent, block by block and searchable. */
import { useId, useState } from 'react';
import type { RequestItem } from '../../../protocol/generated';
import {
  markWords,
  marksAfterBlock
} from '../../../state/inspector/cacheMarks';
import { count } from '../../../state/text/numberFormat';
import { oneLine } from '../../../state/text/oneLine';
import { stateWords } from '../../../state/inspector/why';
import { useHost } from '../../host';
import { useText } from '../controls/answers';
import { FoundText, MissingText } from '../controls/sessionTexts';
import { useCacheMarks, useInspection } from '../controls/inspection';
import { useListFocus } from '../controls/listFocus';
import { ItemLink } from '../controls/placeLinks';
import { StepButton } from '../controls/stepButton';
import { kindWords } from '../timeline/kinds';

/** Draws the blocks of the request at the cursor. */
export function RequestViewer() {
  const { words } = useHost();
  const { source, shown, request } = useInspection();
  const [searched, setSearched] = useState('');
  const [page, setPage] = useState({ key: '', first: 0 });
  const key = `${shown.track.policy} ${request} ${searched}`;
  const first = page.key === key ? page.first : 0;
  const { answer, isWaiting } = useText(
    source,
    {
      ask: 'request',
      request,
      policy: shown.policy,
      numbers: shown.numbers,
      find: searched,
      first
    },
    200
  );
  const text = answer?.request ?? null;
  const linkedBlocks = (text?.blocks ?? []).filter(
    block => (block.item ?? null) !== null
  );
  const links = useListFocus(linkedBlocks.length);
  const field = useId();
  const last = first + (text?.blocks.length ?? 0);
  const summary =
    text === null
      ? ''
      : words._n(
          '%1 block, %2 tokens.',
          '%1 blocks, %2 tokens.',
          text.total,
          count(text.total),
          count(text.tokens)
        ) +
        (text.total > text.blocks.length
          ? ` ${words.__('%1 to %2 of %3', first + 1, last, count(text.total))}`
          : '');
  return (
    <section
      role="group"
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
          value={searched}
          onChange={event => {
            setSearched(event.target.value);
          }}
        />
      </header>
      {/* Said of a search and of other blocks, not of each request that the cursor passes. */}
      <span className="plm-Hidden" role="status">
        {!isWaiting && (searched !== '' || first > 0) && summary}
      </span>
      {text === null ? (
        <MissingText answer={answer} />
      ) : (
        <>
          <p className="plm-Muted">
            <bdi>{text.note}</bdi> {summary}
          </p>
          <ol
            className="plm-RequestViewer-blocks"
            start={first + 1}
            aria-label={words.__('Blocks of the request')}
            tabIndex={0}
            {...links.list}
          >
            {text.blocks.map((block, index) => (
              <RequestBlock
                key={first + index}
                block={block}
                searched={searched}
                tabIndex={links.tabIndex(linkedBlocks.indexOf(block))}
              />
            ))}
          </ol>
          {text.total > text.blocks.length && (
            <div className="plm-Inspector-pages">
              <StepButton
                isAtEnd={first === 0}
                onStep={() => {
                  setPage({ key, first: 0 });
                }}
              >
                {words.__('First blocks')}
              </StepButton>
              <span className="plm-Muted">
                {words.__('%1 to %2 of %3', first + 1, last, count(text.total))}
              </span>
              <StepButton
                isAtEnd={last >= text.total}
                onStep={() => {
                  setPage({ key, first: last });
                }}
              >
                {words.__('Next blocks')}
              </StepButton>
            </div>
          )}
        </>
      )}
    </section>
  );
}

function RequestBlock({
  block,
  searched,
  tabIndex
}: {
  block: RequestItem;
  searched: string;
  tabIndex: number;
}) {
  const { words } = useHost();
  const { view } = useInspection();
  const marks = marksAfterBlock(view, useCacheMarks(), block);
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
        {block.kind === 'tools' && block.name !== '' && (
          <bdi>{oneLine(block.name)}</bdi>
        )}
        {item !== null && <ItemLink item={item} tabIndex={tabIndex} />}
        {marks.map(mark => (
          <span
            key={mark.number}
            className="plm-Chip"
            title={words.__(
              'The client asked for the prompt to be cached up to here.'
            )}
          >
            {words.__('%1 after it', markWords(mark))}
          </span>
        ))}
        {block.state !== 'whole' && (
          <span className="plm-Chip">{stateWords(block.state)}</span>
        )}
        <span className="plm-Muted plm-Inspector-number">
          {words.__('%1 tokens', count(block.tokens))}
        </span>
      </div>
      <pre className="plm-Inspector-text" dir="auto">
        <FoundText text={block.text} find={searched} />
        {isCut && '…'}
      </pre>
    </li>
  );
}
