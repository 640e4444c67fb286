/**
 * How a tool call ended, and why: every row, fold and announcement follows this one rule.
 *
 * A tool that returned may have failed all the same: code that raised, a command with another exit code
 * than 0. A refused or stopped call did nothing, which is no failure. The kernel has the same rule in
 * transcript/call_outcomes.py; both are tested on tests/fixtures/call_outcomes.json.
 */
import type { Reply, ToolPart } from '../../protocol/generated';
import { unknownKind } from '../../protocol/unknownKind';
import { beginningOf } from '../text/oneLine';

export interface ICallOutcome {
  status: 'pending' | 'running' | 'completed' | 'error' | 'refused' | 'stopped';
  /** One line: the last line of the error, or why a call was stopped. */
  reason: string;
  /** Who refused the call, and with which words. */
  refusal?: Pick<Reply, 'by' | 'feedback'>;
}

/** The error of a stopped call; it adds nothing to the state "stopped". */
const ABORTED_ERROR = 'Tool execution aborted';
/** Longest reason: it stands in the row of the call. */
const MAX_REASON_CHARS = 240;

const LINE_BREAK = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const ERROR_SECTION = /^\[error\]$/gm;
const NEXT_SECTION = /^\[(?:images|shown to the user|interrupted)\]$/m;
const COMMAND_END =
  /^\[((?:exit code|stopped after|ended by signal|ended in an unknown way)[^\]\n,:]*)/gm;
const EXCEPTION_LINE =
  /^(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|Interrupt|Exit|Warning|Group)(?!\w)(?::|$)/;
const LINE_LEAD = /^[\s|+-]+/;

/** Refusers for which a call's row is complete; the error only repeats it in a sentence for the model. */
const REFUSERS = new Set(['person', 'cancel', 'headless', 'rule', 'engine']);

/** Returns whether a call's error only repeats its refusal. */
export function isErrorRedundant({ refusal }: ICallOutcome): boolean {
  return refusal !== undefined && REFUSERS.has(refusal.by);
}

/** Returns how a call ended; `reply` is the answer to its question, where that is known. */
export function callOutcome(
  { state }: ToolPart,
  reply?: Reply | null
): ICallOutcome {
  switch (state.status) {
    case 'pending':
    case 'running':
      return { status: state.status, reason: '' };
    case 'completed': {
      const { metadata, output } = state;
      return metadata.failed === true
        ? {
            status: 'error',
            reason:
              savedReason(metadata) ||
              failureLine(output, 'exit_code' in metadata)
          }
        : { status: 'completed', reason: '' };
    }
    case 'error': {
      const { error, metadata } = state;
      if (metadata.interrupted === true) {
        const reason = error === ABORTED_ERROR ? '' : errorLine(error);
        return { status: 'stopped', reason };
      }
      const refusal = refusalOf(metadata, reply);
      return refusal === null
        ? { status: 'error', reason: savedReason(metadata) || errorLine(error) }
        : { status: 'refused', reason: '', refusal };
    }
    default:
      return unknownKind(state, { status: 'completed', reason: '' });
  }
}

function refusalOf(
  { refused_by, refused_why }: Record<string, unknown>,
  reply: Reply | null | undefined
): ICallOutcome['refusal'] | null {
  if (typeof refused_by === 'string' && refused_by !== '') {
    return typeof refused_why === 'string' && refused_why !== ''
      ? { by: refused_by, feedback: refused_why }
      : { by: refused_by };
  }
  return reply?.answer === 'reject' ? reply : null;
}

/** Returns the reason that a saved call stores separately, since its output may be shortened. */
function savedReason({ failure_line }: Record<string, unknown>): string {
  return typeof failure_line === 'string' ? failure_line : '';
}

/** Returns the line of an error that says what happened: the last that names an exception, else the last one. */
function errorLine(text: string): string {
  const lines = text
    .split(LINE_BREAK)
    .map(line => line.replace(LINE_LEAD, '').trim())
    .filter(line => line !== '');
  const exceptionLine = lines.findLast(line => EXCEPTION_LINE.test(line));
  return beginningOf(exceptionLine ?? lines.at(-1) ?? '', MAX_REASON_CHARS);
}

/** Returns why a tool that returned had failed: how its command ended, or what its code raised. */
function failureLine(output: string, isCommand: boolean): string {
  const commandEnd = isCommand
    ? [...output.matchAll(COMMAND_END)].at(-1)
    : undefined;
  if (commandEnd !== undefined) {
    const printedText = output.slice(0, commandEnd.index).trim();
    const printedReason =
      printedText === '(no output)' ? '' : errorLine(printedText);
    return beginningOf(
      [(commandEnd[1] ?? '').trim(), printedReason]
        .filter(word => word !== '')
        .join(': '),
      MAX_REASON_CHARS
    );
  }
  const errorSection = [...output.matchAll(ERROR_SECTION)].at(-1);
  const errorText =
    errorSection === undefined
      ? output
      : output.slice(errorSection.index + errorSection[0].length);
  return errorLine(errorText.split(NEXT_SECTION)[0] ?? '');
}
