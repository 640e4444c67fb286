/** Describes tool calls: the subject in one line, input, output, attachments and duration. */
import type {
  Ask,
  Attachment,
  FileDiff,
  Message,
  ToolCompleted,
  ToolPart
} from '../../protocol/generated';
import { isObject, listOrEmpty } from '../../protocol/jsonValues';
import { unknownKind } from '../../protocol/unknownKind';
import { visibleText } from '../text/visibleText';

/** Inputs that name the subject of a call; the first one present is used. */
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

/** The end of a diff that is kept in part: see tools/files/write_tools.py. */
const CUT = '\n(cut here)\n';

/** The head of a hunk: lines before and after; 1 where none is given. */
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** Properties of a built-in tool; other tools have none of them. */
interface IToolKind {
  /** The input that holds code, and its language. */
  code?: [input: string, language: string];
  /** Whether it runs a subagent: its output is an answer, and its card lists the subagent's calls. */
  isSubagent?: boolean;
  /** Whether its images are input for the model, and not figures of the answer. */
  readsImages?: boolean;
}

const TOOL_KINDS: Partial<Record<string, IToolKind>> = {
  python: { code: ['code', 'python'] },
  bash: { code: ['command', 'bash'] },
  task: { code: ['prompt', 'markdown'], isSubagent: true },
  read: { readsImages: true },
  webfetch: { readsImages: true }
};

const PLAIN: IToolKind = {};

/** Returns the properties of a tool. */
export function toolKind(tool: string): IToolKind {
  return TOOL_KINDS[tool] ?? PLAIN;
}

/** Returns the tool's own title, else the most informative input, on one line. */
export function callSubject(part: ToolPart): string {
  const { state } = part;
  const title = 'title' in state ? (state.title ?? '') : '';
  const described = SUBJECTS.map(name => state.input[name]).find(
    value => typeof value === 'string' && value.trim() !== ''
  );
  const text =
    title !== '' ? title : typeof described === 'string' ? described : '';
  return visibleText(oneLine(text));
}

function oneLine(text: string): string {
  const [first = '', ...rest] = text.trim().split('\n');
  return rest.length > 0 ? `${first} …` : first;
}

/** Returns the exact input: as code, or as a diff where one is known. */
export function callInput(part: ToolPart): { text: string; language: string } {
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

/** Returns how many lines a call's diff adds and removes, as "+9 −2"; empty without a whole diff. */
export function changedLines({ state }: ToolPart): string {
  const diff = 'metadata' in state ? state.metadata.diff : undefined;
  if (
    state.status !== 'completed' ||
    typeof diff !== 'string' ||
    diff.endsWith(CUT)
  ) {
    return '';
  }
  const lineCounts = { '+': 0, '-': 0 };
  let [before, after] = [0, 0];
  for (const line of diff.split('\n')) {
    const hunk = HUNK.exec(line);
    if (before + after <= 0 && hunk !== null) {
      before = Number(hunk[1] ?? 1);
      after = Number(hunk[2] ?? 1);
    } else if (before + after > 0 && !line.startsWith('\\')) {
      lineCounts['+'] += line.startsWith('+') ? 1 : 0;
      lineCounts['-'] += line.startsWith('-') ? 1 : 0;
      before -= line.startsWith('+') ? 0 : 1;
      after -= line.startsWith('-') ? 0 : 1;
    }
  }
  return lineNumbers(lineCounts['+'], lineCounts['-']);
}

/** Returns whether the row of one call already shows all changes of a turn to files. */
export function isCoveredByCall(
  changes: readonly FileDiff[],
  messages: readonly Message[]
): boolean {
  const [change, ...others] = changes;
  const [call, ...more] = messages
    .flatMap(({ parts }) => parts.filter(part => part.type === 'tool'))
    .filter(part => changedLines(part) !== '');
  return (
    change !== undefined &&
    call !== undefined &&
    others.length + more.length === 0 &&
    change.note === undefined &&
    callSubject(call) === visibleText(change.file) &&
    changedLines(call) === lineNumbers(change.additions, change.deletions)
  );
}

function lineNumbers(added: number, removed: number): string {
  return [added > 0 ? `+${added}` : '', removed > 0 ? `−${removed}` : '']
    .filter(piece => piece !== '')
    .join(' ');
}

/** Returns the exact input of a question: its code, and whatever else it holds. */
export function askedInput({ input: askInput, tool = '' }: Ask): {
  text: string;
  language: string;
  rest: string;
} {
  const [name = '', language = ''] = toolKind(tool).code ?? [];
  const { [name]: code, ...others } = askInput;
  if (typeof code !== 'string') {
    return {
      text: JSON.stringify(askInput, null, 2),
      language: 'json',
      rest: ''
    };
  }
  const more = Object.keys(others).length > 0;
  return {
    text: code,
    language,
    rest: more ? JSON.stringify(others, null, 2) : ''
  };
}

/** Returns the tool's output so far. */
export function callOutput({ state, tool }: ToolPart): string {
  const { isSubagent = false } = toolKind(tool);
  switch (state.status) {
    case 'completed':
      return isSubagent ? subagentAnswer(state.output) : state.output;
    case 'error': {
      // The card of a subagent's call lists the subagent's calls instead.
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

/** Returns a subagent's answer, without the text that is addressed to the model. */
function subagentAnswer(text: string): string {
  return /^<result>\n([\s\S]*)\n<\/result>$/m.exec(text)?.[1] ?? text;
}

/** Returns a call's figures and files that are not outputs of the cell already. */
export function callAttachments(part: ToolPart): readonly Attachment[] {
  // They may be missing in a saved call: see frontends/turn_output/mime_bundle.py.
  const { attachments = [] } = part.state as Partial<ToolCompleted>;
  return attachments.filter(({ url }) => url !== '');
}

/** A rich result that no cell displays: HTML, Markdown, or the name of what only a cell can show. */
export interface IShownResult {
  kind: string;
  text: string;
}

/** Returns what a call displayed and no cell shows, without figures. */
export function shownResults({ state }: ToolPart): readonly IShownResult[] {
  const results = 'metadata' in state ? state.metadata.shown : undefined;
  // A saved call may hold it shortened: see frontends/turn_output/mime_bundle.py.
  return listOrEmpty(results).flatMap(result =>
    isObject(result) &&
    typeof result.kind === 'string' &&
    typeof result.text === 'string'
      ? [{ kind: result.kind, text: result.text }]
      : []
  );
}

/** Returns the seconds that the call took, without the time waiting for the user; null while it runs. */
export function callSeconds(part: ToolPart): number | null {
  const { state } = part;
  if (!('time' in state) || state.time.end === undefined) {
    return null;
  }
  return (
    Math.max(0, state.time.end - state.time.start - waitedMilliseconds(part)) /
    1000
  );
}

/** Returns the milliseconds for which a call waited for the user. */
function waitedMilliseconds({ state }: ToolPart): number {
  const waitedMs = 'metadata' in state ? state.metadata.waited_ms : undefined;
  return typeof waitedMs === 'number' && waitedMs > 0 ? waitedMs : 0;
}
