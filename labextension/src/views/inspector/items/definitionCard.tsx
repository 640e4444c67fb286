/** Tool definitions in the card of the item that holds them: all of them by size, or the chosen one. */
import { useMemo, useState } from 'react';
import {
  definitionOfRow,
  definitionRows,
  definitionsOf,
  largestDefinitions,
  MAX_ITEMS,
  placeOfRow
} from '../../../state/inspector/definitionRows';
import { scaleAt } from '../../../state/inspector/figures/requestScale';
import {
  callCount,
  removedToolNames
} from '../../../state/inspector/definitionUse';
import { percent } from '../../../state/inspector/labels';
import { count } from '../../../state/text/numberFormat';
import { oneLine } from '../../../state/text/oneLine';
import { useHost, type IWords } from '../../host';
import { FoldedRest } from '../controls/foldedRest';
import { useInspection } from '../controls/inspection';
import { PlaceLink } from '../controls/placeLinks';

/** The definitions that are listed before the rest is unfolded. */
const LISTED_DEFINITIONS = 8;

/** Draws the definitions of an item, the largest first, each with its tokens and how often it was called. */
export function DefinitionList({ item }: { item: number }) {
  const { words } = useHost();
  const { view, shownTrack, request } = useInspection();
  const [isUnfolded, setUnfolded] = useState(false);
  const rows = useMemo(
    () =>
      largestDefinitions(
        view,
        definitionRows(view, item, { tool: '', text: '' })
      ),
    [view, item]
  );
  if (rows.length === 0) {
    return null;
  }
  const { factor } = scaleAt(shownTrack.states, request);
  const unused = rows.filter(
    row => callCount(view, definitionOfRow(view, row).name) === 0
  );
  const unusedTokens = unused.reduce(
    (sum, row) => sum + definitionOfRow(view, row).tokens,
    0
  );
  const removed = removedToolNames(view, item);
  const name =
    rows.length === 1
      ? words.__('1 tool definition')
      : words.__('%1 tool definitions', count(rows.length));
  return (
    <section role="group" aria-label={name}>
      <p>
        {unused.length === 0
          ? words.__('%1.', name)
          : words.__(
              '%1. Never called here: %2 of them, with %3 tokens.',
              name,
              count(unused.length),
              count(unusedTokens * factor)
            )}
      </p>
      {removed.length > 0 && (
        <p>
          {words.__('No longer offered:')}{' '}
          <bdi>{removed.map(oneLine).join(', ')}</bdi>
        </p>
      )}
      <ul className="plm-Difference-rows">
        {rows
          .slice(0, isUnfolded ? rows.length : LISTED_DEFINITIONS)
          .map(row => {
            const definition = definitionOfRow(view, row);
            return (
              <li key={row}>
                <PlaceLink place={placeOfRow(view, row)} isCutShort>
                  <bdi>{definition.name}</bdi>
                </PlaceLink>
                <span className="plm-Muted">
                  {[
                    words.__('%1 tokens', count(definition.tokens * factor)),
                    callWords(callCount(view, definition.name), words),
                    changeWords(view.definitions.change[row - MAX_ITEMS], words)
                  ]
                    .filter(Boolean)
                    .join(', ')}
                </span>
              </li>
            );
          })}
      </ul>
      {rows.length > LISTED_DEFINITIONS && (
        <FoldedRest
          isUnfolded={isUnfolded}
          moreLabel={words.__('and %1 more', rows.length - LISTED_DEFINITIONS)}
          onFold={setUnfolded}
        />
      )}
    </section>
  );
}

/** Draws what is known of one definition, and the way to the others. */
export function DefinitionSentence(props: {
  item: number;
  definition: number;
}) {
  const { item, definition } = props;
  const { words } = useHost();
  const { view, shownTrack, request } = useInspection();
  const { firstIndex: first, count: total } = definitionsOf(view, item);
  const { name, tokens } = definitionOfRow(
    view,
    MAX_ITEMS + first + definition
  );
  const { factor } = scaleAt(shownTrack.states, request);
  const all = Math.max(view.items.tokens[item] ?? 0, 1);
  return (
    <>
      <p>
        {words.__(
          'It is definition %1 of %2, with %3 tokens, %4 of all definitions: a share by length.',
          definition + 1,
          count(total),
          count(tokens * factor),
          percent(tokens / all)
        )}{' '}
        {asSentence(callWords(callCount(view, name), words))}{' '}
        {asSentence(
          changeWords(view.definitions.change[first + definition], words)
        )}
      </p>
      <p>
        <PlaceLink place={{ item }}>
          {words.__('All %1 tool definitions', count(total))}
        </PlaceLink>
      </p>
    </>
  );
}

function asSentence(text: string): string {
  return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function callWords(calls: number, words: IWords): string {
  return calls === 0
    ? words.__('never called')
    : calls === 1
      ? words.__('called once')
      : words.__('called %1 times', count(calls));
}

function changeWords(change: string | undefined, words: IWords): string {
  switch (change) {
    case 'new':
      return words.__('new since the definitions before');
    case 'changed':
      return words.__('changed since the definitions before');
    default:
      return '';
  }
}
