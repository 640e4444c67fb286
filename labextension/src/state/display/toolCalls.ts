/**
 * What a tool call works on, in one line.
 */
import type {
  Attachment,
  ToolCompleted,
  ToolPart
} from '../../protocol/generated';
import { unknownKind } from '../../protocol/unknownKind';

/** Inputs that name the subject of a call, the first found wins. */
const SUBJECTS = [
  'code',
  'command',
  'path',
  'file_path',
  'pattern',
  'query',
  'url',
  'name',
  'description',
  'prompt'
];

/** What is particular to a tool of ours; any other has none of it. */
interface IToolKind {
  /** The input that holds its whole work, and the language it is written in. */
  code?: [input: string, language: string];
  /** Another agent works for it: its output is an answer, and its card lists what was done. */
  isSubagent?: boolean;
  /** It looks at something for the model: its pictures are no figures of the answer. */
  looks?: boolean;
  /** Calls in a row that went well are one line. */
  folds?: boolean;
}

const TOOL_KINDS: Partial<Record<string, IToolKind>> = {
  python: { code: ['code', 'python'] },
  bash: { code: ['command', 'bash'] },
  task: { code: ['prompt', 'markdown'], isSubagent: true },
  read: { looks: true, folds: true },
  webfetch: { looks: true }
};

const PLAIN: IToolKind = {};

/** Returns what is particular to a tool. */
export function toolKind(tool: string): IToolKind {
  return TOOL_KINDS[tool] ?? PLAIN;
}

/** Returns the tool's own title, else the input that says most, on one line. */
export function subject(part: ToolPart): string {
  const { state } = part;
  const title = 'title' in state ? (state.title ?? '') : '';
  const named = SUBJECTS.map(name => state.input[name]).find(
    value => typeof value === 'string' && value.trim() !== ''
  );
  const text = title !== '' ? title : typeof named === 'string' ? named : '';
  return oneLine(text);
}

function oneLine(text: string): string {
  const [first = '', ...rest] = text.trim().split('\n');
  return rest.length > 0 ? `${first} …` : first;
}

/** Returns the exact input, as code where it is code, and as the difference where that is known. */
export function input(part: ToolPart): { text: string; language: string } {
  const { state, tool } = part;
  const diff = 'metadata' in state ? state.metadata.diff : undefined;
  if (typeof diff === 'string' && diff.trim() !== '') {
    return { text: diff, language: 'diff' };
  }
  if (state.status === 'pending' && state.raw !== '') {
    return { text: state.raw, language: 'json' };
  }
  const [name, language] = toolKind(tool).code ?? [];
  const code = name === undefined ? undefined : state.input[name];
  if (typeof code === 'string' && language !== undefined) {
    return { text: code, language };
  }
  return { text: JSON.stringify(state.input, null, 2), language: 'json' };
}

/** Returns what the tool gave back, as far as it has come. */
export function output({ state, tool }: ToolPart): string {
  const { isSubagent = false } = toolKind(tool);
  switch (state.status) {
    case 'completed':
      return isSubagent ? result(state.output) : state.output;
    case 'error': {
      // The card of a subagent's call lists what was done.
      const printed = isSubagent ? '' : state.metadata.output;
      return typeof printed === 'string' ? printed : '';
    }
    case 'running': {
      const partial = state.metadata.output;
      return typeof partial === 'string' ? partial : '';
    }
    case 'pending':
      return '';
    default:
      return unknownKind(state, '');
  }
}

/** Returns what another agent answered, without what is said to the model about it. */
function result(text: string): string {
  return /^<result>\n([\s\S]*)\n<\/result>$/m.exec(text)?.[1] ?? text;
}

/** Returns the figures and files of a call that are not outputs of the cell already. */
export function attachments(part: ToolPart): readonly Attachment[] {
  // A saved call may lack them: see frontends/turn_output/mime_bundle.py.
  const { attachments: found = [] } = part.state as Partial<ToolCompleted>;
  return found.filter(({ url }) => url !== '');
}

/** Returns how long the call took without the answer of a person, in seconds; null while it runs. */
export function duration(part: ToolPart): number | null {
  const { state } = part;
  if (!('time' in state) || state.time.end === undefined) {
    return null;
  }
  return Math.max(0, state.time.end - state.time.start - waited(part)) / 1000;
}

/** Returns for how much of a call's time a person was asked, in milliseconds. */
export function waited({ state }: ToolPart): number {
  const told = 'metadata' in state ? state.metadata.waited_ms : undefined;
  return typeof told === 'number' && told > 0 ? told : 0;
}
