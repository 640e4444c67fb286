/** The usage of the context window by kind: a bar, and a table on demand. */
import { useId, useState, type ReactNode } from 'react';
import { count, dollarsText, shortCount } from '../../state/text/numberFormat';
import {
  canCompact,
  windowUsage,
  type IWindowUsage
} from '../../state/session/status';
import type { SessionInfo } from '../../protocol/generated';
import { spendingOf } from '../../state/session/spending';
import type { ITranscript } from '../../state/store/transcript';
import { Gauge, KINDS, type Kind } from './gauge';
import { useHost, type IWords } from '../host';
import { useCompactionActions } from '../actions/contextEdits';
import { useInspectorOpener } from '../actions/inspector';

/** Draws the bar; its table shows on hover, on focus, or pinned by a click. */
export function ContextWindow({
  transcript,
  pinned,
  onPin
}: {
  transcript: ITranscript;
  /** Whether its table stays open. */
  pinned: boolean;
  onPin: (pinned: boolean) => void;
}) {
  const { words } = useHost();
  const [isHovered, setHovered] = useState(false);
  const table = useId();
  const compaction = useCompactionActions();
  const inspector = useInspectorOpener();
  const usage = windowUsage(transcript);
  if (usage === null) {
    return null;
  }
  const price = costText(transcript.session, words);
  const { used, window } = usage;
  const share =
    window > 0
      ? words.__('%1 / %2', shortCount(used), shortCount(window))
      : words.__('%1 tokens', shortCount(used));
  const open = isHovered || pinned;
  return (
    <div
      className="plm-ContextWindow"
      onMouseEnter={() => {
        setHovered(true);
      }}
      onMouseLeave={() => {
        setHovered(false);
      }}
      onFocus={event => {
        setHovered(event.target.matches(':focus-visible'));
      }}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) {
          setHovered(false);
          onPin(false);
        }
      }}
      onKeyDown={event => {
        if (event.key === 'Escape' && open) {
          event.stopPropagation();
          setHovered(false);
          onPin(false);
        }
      }}
    >
      <button
        type="button"
        className="plm-Panel-window"
        aria-expanded={open}
        aria-controls={open ? table : undefined}
        aria-label={
          window > 0
            ? words.__(
                'Context window: %1 of %2 tokens. Cost: %3. What it holds',
                shortCount(used),
                shortCount(window),
                price
              )
            : words.__(
                'Context: %1 tokens, no limit. Cost: %2. What it holds',
                shortCount(used),
                price
              )
        }
        onClick={() => {
          onPin(!pinned);
        }}
      >
        <Gauge {...usage} label={`${share} · ${price}`} silent />
      </button>
      {open && (
        <UsageTable usage={usage} id={table}>
          {compaction !== null && canCompact(transcript) && (
            <button
              type="button"
              className="plm-Button"
              onClick={() => {
                setHovered(false);
                onPin(false);
                compaction.compact();
              }}
            >
              {words.__('Compact now')}
            </button>
          )}
          {inspector !== null && (
            <button
              type="button"
              className="plm-Button"
              title={words.__(
                'Show what the model saw in each request, and what that cost'
              )}
              onClick={() => {
                setHovered(false);
                onPin(false);
                inspector.inspect();
              }}
            >
              {words.__('Inspect the context')}
            </button>
          )}
        </UsageTable>
      )}
    </div>
  );
}

/** Returns the text about the cost and, if there is one, the spending limit. */
function costText(session: SessionInfo | undefined, words: IWords): string {
  const { cost, limit, tokens, unpriced, usd } = spendingOf(session);
  const knownCost =
    cost === undefined
      ? usd !== undefined && unpriced === 0
        ? dollarsText(0)
        : words.__('cost unknown')
      : unpriced > 0
        ? words.__('%1 and more', dollarsText(cost))
        : dollarsText(cost);
  const withLimit =
    usd === undefined
      ? knownCost
      : words.__('%1 of %2', knownCost, dollarsText(usd));
  return limit === undefined
    ? withLimit
    : words.__(
        '%1 · %2 of %3 tokens',
        withLimit,
        shortCount(tokens),
        shortCount(limit)
      );
}

function UsageTable({
  usage,
  id,
  children
}: {
  usage: IWindowUsage;
  id: string;
  children: ReactNode;
}) {
  const { words } = useHost();
  const { compacted = false, kinds, reserve, used, window } = usage;
  const kindRows = KINDS.flatMap(kind => {
    const tokens = kinds[kind] ?? 0;
    return tokens > 0 ? [[kind, kindName(kind, words), tokens] as const] : [];
  });
  const rows = [
    ...(kindRows.length > 0
      ? kindRows
      : [['all' as const, words.__('Used'), used] as const]),
    ...(window > 0
      ? [
          [
            'reserve' as const,
            words.__('Kept for the answer'),
            reserve
          ] as const,
          [
            'free' as const,
            words.__('Free'),
            Math.max(0, window - used - reserve)
          ] as const
        ]
      : [])
  ];
  return (
    <div className="plm-WindowTable" id={id}>
      <table>
        <caption>
          {compacted
            ? words.__(
                'Tokens of the next request (estimated): system prompt, tools, the summary, and the messages that stay as they are'
              )
            : words.__('Tokens of the newest request, by kind (estimated)')}
        </caption>
        <tbody>
          {rows.map(([kind, name, tokens]) => (
            <tr key={kind}>
              <th scope="row">
                <span
                  className="plm-Swatch"
                  data-kind={kind}
                  aria-hidden="true"
                />
                {name}
              </th>
              <td>{count(tokens)}</td>
              {window > 0 && (
                <td>{words.__('%1 %', percent(tokens / window))}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {children}
    </div>
  );
}

function percent(share: number): string {
  const value = share * 100;
  return value > 0 && value < 0.1 ? '<0.1' : value.toFixed(value < 10 ? 1 : 0);
}

function kindName(kind: Kind, words: IWords): string {
  switch (kind) {
    case 'system':
      return words.__('System prompt');
    case 'tools':
      return words.__('Tool descriptions');
    case 'instructions':
      return words.__('Instructions');
    case 'summary':
      return words.__('Summary of older turns');
    case 'user':
      return words.__('You');
    case 'notebook':
      return words.__('Notebook cells');
    case 'assistant':
      return words.__('Agent');
    case 'reasoning':
      return words.__('Agent’s thoughts');
    case 'output':
      return words.__('Tool outputs');
  }
}
