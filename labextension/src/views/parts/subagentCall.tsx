/** A subagent's work in the card of its task call: its calls, its usage, and a link to its session. */
import type { ToolPart } from '../../protocol/generated';
import { isObject, listOrEmpty, textOrEmpty } from '../../protocol/jsonValues';
import { count, dollarsText } from '../../state/text/numberFormat';
import { toolKind } from '../../state/lines/toolCalls';
import { useSessionOpenerIfOffered } from '../actions/sessions';
import { LinkButton } from '../controls/buttons';
import { useHost } from '../host';
import { StatusIcon, type CallState } from '../controls/statusIcon';

interface ICall {
  tool: string;
  title: string;
  state: string;
}

/** Returns the id of the session of a task call; empty for any other call. */
export function subagentSessionId(part: ToolPart): string {
  const metadata = metadataOf(part);
  return toolKind(part.tool).isSubagent === true &&
    typeof metadata.task === 'string'
    ? metadata.task
    : '';
}

/** Draws a subagent's work in the card of its task call. */
export function SubagentCall(props: { part: ToolPart; isOver: boolean }) {
  const { part, isOver } = props;
  const { words } = useHost();
  const opener = useSessionOpenerIfOffered();
  const sessionId = subagentSessionId(part);
  const metadata = metadataOf(part);
  const calls = callsOf(metadata.calls);
  const earlierCount = Number(metadata.count ?? 0) - calls.length;
  const agent = typeof metadata.agent === 'string' ? metadata.agent : '';
  if (sessionId === '') {
    return null;
  }
  return (
    <section
      className="plm-SubagentCall"
      role="group"
      aria-label={words.__('What the agent did')}
    >
      {earlierCount > 0 && (
        <p className="plm-Muted">
          {words._n('%1 earlier call', '%1 earlier calls', earlierCount)}
        </p>
      )}
      {calls.length > 0 && (
        <ol className="plm-SubagentCall-calls">
          {calls.map((call, index) => (
            <li key={earlierCount + index}>
              <StatusIcon state={stateOf(call, isOver)} />{' '}
              <span className="plm-Tool-name">{call.tool}</span>{' '}
              <span className="plm-SubagentCall-title">{call.title}</span>
            </li>
          ))}
        </ol>
      )}
      <p className="plm-SubagentCall-foot plm-Muted">
        <span>
          {words.__('agent %1', agent)}
          {usageText(metadata)}
        </span>
        {opener !== null && (
          <LinkButton
            onClick={() => {
              opener.open(sessionId);
            }}
          >
            {words.__('Open its session')}
          </LinkButton>
        )}
      </p>
    </section>
  );
}

function metadataOf(part: ToolPart): Record<string, unknown> {
  return 'metadata' in part.state ? part.state.metadata : {};
}

function usageText(metadata: Record<string, unknown>): string {
  const tokensText =
    typeof metadata.tokens === 'number'
      ? ` · ${count(metadata.tokens)} tokens`
      : '';
  const costText =
    typeof metadata.cost === 'number' ? ` · ${dollarsText(metadata.cost)}` : '';
  return tokensText + costText;
}

function stateOf(call: ICall, isOver: boolean): CallState {
  switch (call.state) {
    case 'completed':
      return 'completed';
    case 'error':
    case 'refused':
    case 'stopped':
      return call.state;
    default:
      return isOver ? 'stopped' : 'running';
  }
}

function callsOf(value: unknown): ICall[] {
  return listOrEmpty(value).flatMap(call =>
    isObject(call) &&
    typeof call.tool === 'string' &&
    typeof call.title === 'string'
      ? [{ tool: call.tool, title: call.title, state: textOrEmpty(call.state) }]
      : []
  );
}
