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
import {
  MarkedText,
  MAX_QUERY_CHARS,
  MissingText
} from '../controls/sessionTexts';
import { useCacheMarks, useInspection } from '../controls/inspection';
import { useListFocus } from '../controls/listFocus';
import { ItemLink } from '../controls/placeLinks';
import { StepButton } from '../controls/stepButton';
import { kindWords } from '../timeline/kinds';

/** Draws the blocks of the request at the cursor. */
export function RequestViewer() {
  const { words } = useHost();
  const { source, shownTrack, request } = useInspection();
  const [query, setQuery] = useState('');
  const [page, setPage] = useState({ key: '', first: 0 });
  const key = `${shownTrack.track.policy} ${request} ${query}`;
  const firstIndex = page.key === key ? page.first : 0;
  const { answer, isWaiting } = useText(
    source,
    {
      ask: 'request',
      request,
      policy: shownTrack.policy,
      numbers: shownTrack.numbers,
      find: query,
      first: firstIndex
    },
    200
  );
  const requestPage = answer?.request ?? null;
  const linkedBlocks = (requestPage?.blocks ?? []).filter(
    block => (block.item ?? null) !== null
  );
  const listFocus = useListFocus(linkedBlocks.length);
  const fieldId = useId();
  const endIndex = firstIndex + (requestPage?.blocks.length ?? 0);
  const summary =
    requestPage === null
      ? ''
      : (requestPage.total === 1
          ? words.__('1 block, %1 tokens.', count(requestPage.tokens))
          : words.__(
              '%1 blocks, %2 tokens.',
              count(requestPage.total),
              count(requestPage.tokens)
            )) +
        (requestPage.total > requestPage.blocks.length
          ? ` ${words.__('%1 to %2 of %3', firstIndex + 1, endIndex, count(requestPage.total))}`
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
        <label htmlFor={fieldId} className="plm-Hidden">
          {words.__('Find in the request')}
        </label>
        <input
          id={fieldId}
          className="plm-Field plm-RequestViewer-find"
          type="search"
          maxLength={MAX_QUERY_CHARS}
          placeholder={words.__('Find in the request')}
          value={query}
          onChange={event => {
            setQuery(event.target.value);
          }}
        />
      </header>
      {/* Said of a search and of other blocks, not of each request that the cursor passes. */}
      <span className="plm-Hidden" role="status">
        {!isWaiting && (query !== '' || firstIndex > 0) && summary}
      </span>
      {requestPage === null ? (
        <MissingText answer={answer} />
      ) : (
        <>
          <p className="plm-Muted">
            <bdi>{requestPage.note}</bdi> {summary}
          </p>
          <ol
            className="plm-RequestViewer-blocks"
            start={firstIndex + 1}
            aria-label={words.__('Blocks of the request')}
            tabIndex={0}
            {...listFocus.handlers}
          >
            {requestPage.blocks.map((block, index) => (
              <RequestBlock
                key={firstIndex + index}
                block={block}
                query={query}
                tabIndex={listFocus.tabIndexOf(linkedBlocks.indexOf(block))}
              />
            ))}
          </ol>
          {requestPage.total > requestPage.blocks.length && (
            <div className="plm-Inspector-pages">
              <StepButton
                isAtEnd={firstIndex === 0}
                onStep={() => {
                  setPage({ key, first: 0 });
                }}
              >
                {words.__('First blocks')}
              </StepButton>
              <span className="plm-Muted">
                {words.__(
                  '%1 to %2 of %3',
                  firstIndex + 1,
                  endIndex,
                  count(requestPage.total)
                )}
              </span>
              <StepButton
                isAtEnd={endIndex >= requestPage.total}
                onStep={() => {
                  setPage({ key, first: endIndex });
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

function RequestBlock(props: {
  block: RequestItem;
  query: string;
  tabIndex: number;
}) {
  const { block, query, tabIndex } = props;
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
        <MarkedText text={block.text} query={query} />
        {isCut && '…'}
      </pre>
    </li>
  );
}
