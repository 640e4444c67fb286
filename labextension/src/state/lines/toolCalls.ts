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
const SUBJECT_INPUTS = [
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
const CUT_MARK = '\n(cut here)\n';

/** The head of a hunk: lines before and after; 1 where none is given. */
const HUNK_HEAD = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

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

const OTHER_TOOL: IToolKind = {};

/** Returns the properties of a tool. */
export function toolKind(tool: string): IToolKind {
  return TOOL_KINDS[tool] ?? OTHER_TOOL;
}

/** Returns the tool's own title, else the most informative input, on one line. */
export function callSubject(part: ToolPart): string {
  const { state } = part;
  const title = 'title' in state ? (state.title ?? '') : '';
  const subjectInput = SUBJECT_INPUTS.map(name => state.input[name]).find(
    value => typeof value === 'string' && value.trim() !== ''
  );
  const text =
    title !== '' ? title : typeof subjectInput === 'string' ? subjectInput : '';
  return visibleText(firstLine(text));
}

function firstLine(text: string): string {
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
export function changedLineCounts({ state }: ToolPart): string {
  const diff = 'metadata' in state ? state.metadata.diff : undefined;
  if (
    state.status !== 'completed' ||
    typeof diff !== 'string' ||
    diff.endsWith(CUT_MARK)
  ) {
    return '';
  }
  const lineCounts = { '+': 0, '-': 0 };
  let [linesBefore, linesAfter] = [0, 0];
  for (const line of diff.split('\n')) {
    const hunk = HUNK_HEAD.exec(line);
    if (linesBefore + linesAfter <= 0 && hunk !== null) {
      linesBefore = Number(hunk[1] ?? 1);
      linesAfter = Number(hunk[2] ?? 1);
    } else if (linesBefore + linesAfter > 0 && !line.startsWith('\\')) {
      lineCounts['+'] += line.startsWith('+') ? 1 : 0;
      lineCounts['-'] += line.startsWith('-') ? 1 : 0;
      linesBefore -= line.startsWith('+') ? 0 : 1;
      linesAfter -= line.startsWith('-') ? 0 : 1;
    }
  }
  return lineCountsText(lineCounts['+'], lineCounts['-']);
}

/** Returns whether the row of one call already shows all changes of a turn to files. */
export function isCoveredByCall(
  changes: readonly FileDiff[],
  messages: readonly Message[]
): boolean {
  const [change, ...otherChanges] = changes;
  const [changingCall, ...otherCalls] = messages
    .flatMap(({ parts }) => parts.filter(part => part.type === 'tool'))
    .filter(part => changedLineCounts(part) !== '');
  return (
    change !== undefined &&
    changingCall !== undefined &&
    otherChanges.length + otherCalls.length === 0 &&
    change.note === undefined &&
    callSubject(changingCall) === visibleText(change.file) &&
    changedLineCounts(changingCall) ===
      lineCountsText(change.additions, change.deletions)
  );
}

function lineCountsText(addedCount: number, removedCount: number): string {
  return [
    addedCount > 0 ? `+${addedCount}` : '',
    removedCount > 0 ? `−${removedCount}` : ''
  ]
    .filter(piece => piece !== '')
    .join(' ');
}

/** Returns the exact input of a question: its code, and whatever else it holds. */
export function questionInput({ input: askInput, tool = '' }: Ask): {
  text: string;
  language: string;
  otherInputs: string;
} {
  const [name = '', language = ''] = toolKind(tool).code ?? [];
  const { [name]: code, ...otherInputs } = askInput;
  if (typeof code !== 'string') {
    return {
      text: JSON.stringify(askInput, null, 2),
      language: 'json',
      otherInputs: ''
    };
  }
  const hasOthers = Object.keys(otherInputs).length > 0;
  return {
    text: code,
    language,
    otherInputs: hasOthers ? JSON.stringify(otherInputs, null, 2) : ''
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
      const printedText = isSubagent ? '' : state.metadata.output;
      return typeof printedText === 'string' ? printedText : '';
    }
    case 'running': {
      const partialOutput = state.metadata.output;
      return typeof partialOutput === 'string' ? partialOutput : '';
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
