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
import { OutlinedButton } from '../controls/buttons';
import { onEscape } from '../dom/effects';
import { useHost, type IWords } from '../host';
import { useCompactionActions } from '../actions/contextEdits';
import { useInspectorOpener } from '../actions/inspector';

/** Draws the bar; its table shows on hover, on focus, or pinned by a click. */
export function ContextWindow(props: {
  transcript: ITranscript;
  /** Whether its table stays open. */
  isPinned: boolean;
  onPin: (pinned: boolean) => void;
}) {
  const { transcript, isPinned, onPin } = props;
  const { words } = useHost();
  const [isHovered, setHovered] = useState(false);
  const tableId = useId();
  const compaction = useCompactionActions();
  const inspector = useInspectorOpener();
  const usage = windowUsage(transcript);
  if (usage === null) {
    return null;
  }
  const cost = costText(transcript.session, words);
  const { used, window } = usage;
  const usageLabel =
    window > 0
      ? words.__('%1 / %2', shortCount(used), shortCount(window))
      : words.__('%1 tokens', shortCount(used));
  const isOpen = isHovered || isPinned;
  const close = () => {
    setHovered(false);
    onPin(false);
  };
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
          close();
        }
      }}
      onKeyDown={onEscape(isOpen ? close : null)}
    >
      <button
        type="button"
        className="plm-Panel-window"
        aria-expanded={isOpen}
        aria-controls={isOpen ? tableId : undefined}
        aria-label={
          window > 0
            ? words.__(
                'Context window: %1 of %2 tokens. Cost: %3. What it holds',
                shortCount(used),
                shortCount(window),
                cost
              )
            : words.__(
                'Context: %1 tokens, no limit. Cost: %2. What it holds',
                shortCount(used),
                cost
              )
        }
        onClick={() => {
          onPin(!isPinned);
        }}
      >
        <Gauge {...usage} label={`${usageLabel} · ${cost}`} isDecorative />
      </button>
      {isOpen && (
        <UsageTable usage={usage} id={tableId}>
          {compaction !== null && canCompact(transcript) && (
            <OutlinedButton
              onClick={() => {
                close();
                compaction.compact();
              }}
            >
              {words.__('Compact now')}
            </OutlinedButton>
          )}
          {inspector !== null && (
            <OutlinedButton
              title={words.__(
                'Show what the model saw in each request, and what that cost'
              )}
              onClick={() => {
                close();
                inspector.inspect();
              }}
            >
              {words.__('Inspect the context')}
            </OutlinedButton>
          )}
        </UsageTable>
      )}
    </div>
  );
}

/** Returns the text about the cost and, if there is one, the spending limit. */
function costText(session: SessionInfo | undefined, words: IWords): string {
  const {
    cost,
    maxTokens: limit,
    tokens,
    unpricedCount: unpriced,
    maxDollars: usd
  } = spendingOf(session);
  const knownCost =
    cost === undefined
      ? usd !== undefined && unpriced === 0
        ? dollarsText(0)
        : words.__('cost unknown')
      : unpriced > 0
        ? words.__('%1 and more', dollarsText(cost))
        : dollarsText(cost);
  const costAndLimit =
    usd === undefined
      ? knownCost
      : words.__('%1 of %2', knownCost, dollarsText(usd));
  return limit === undefined
    ? costAndLimit
    : words.__(
        '%1 · %2 of %3 tokens',
        costAndLimit,
        shortCount(tokens),
        shortCount(limit)
      );
}

type WindowRow = readonly [kind: string, name: string, tokens: number];

function UsageTable(props: {
  usage: IWindowUsage;
  id: string;
  children: ReactNode;
}) {
  const { usage, id, children } = props;
  const { words } = useHost();
  const { compacted = false, kinds, reserve, used, window } = usage;
  const nameOfKind = kindNames(words);
  const kindRows = KINDS.flatMap((kind): WindowRow[] => {
    const tokens = kinds[kind] ?? 0;
    return tokens > 0 ? [[kind, nameOfKind[kind], tokens]] : [];
  });
  const freeTokens = Math.max(0, window - used - reserve);
  const rows: WindowRow[] = [
    ...kindRows,
    ...(kindRows.length > 0 ? [] : [['all', words.__('Used'), used] as const]),
    ...(window > 0
      ? [
          ['reserve', words.__('Kept for the answer'), reserve] as const,
          ['free', words.__('Free'), freeTokens] as const
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
                <td>{words.__('%1 %', percentText(tokens / window))}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {children}
    </div>
  );
}

function percentText(share: number): string {
  const value = share * 100;
  return value > 0 && value < 0.1 ? '<0.1' : value.toFixed(value < 10 ? 1 : 0);
}

function kindNames(words: IWords): Record<Kind, string> {
  return {
    system: words.__('System prompt'),
    tools: words.__('Tool descriptions'),
    instructions: words.__('Instructions'),
    summary: words.__('Summary of older turns'),
    user: words.__('You'),
    notebook: words.__('Notebook cells'),
    assistant: words.__('Agent'),
    reasoning: words.__('Agent’s thoughts'),
    output: words.__('Tool outputs')
  };
}
