/** The recorded files that open in the inspector: by their names, or by how they begin. */

/** Types of file that JupyterLab does not know. */
export const RECORDING_TYPES = [
  {
    name: 'palimpsest-trajectory',
    extensions: ['.traj', '.traj.json'],
    what: 'SWE-agent Trajectory'
  },
  {
    name: 'palimpsest-evaluation',
    extensions: ['.eval'],
    what: 'Inspect Evaluation'
  },
  {
    name: 'palimpsest-aider',
    extensions: ['.aider.chat.history.md'],
    what: 'Aider Chat History'
  },
  { name: 'palimpsest-capture', extensions: ['.har'], what: 'HTTP Archive' },
  { name: 'palimpsest-archive', extensions: ['.zip'], what: 'Archive' }
] as const;

/** The types of file that hold nothing but recordings, so that a double click opens the inspector. */
export const DEFAULT_TYPES = [
  'palimpsest-trajectory',
  'palimpsest-evaluation',
  'palimpsest-aider'
] as const;

/** How many bytes of a file's beginning are read. */
export const MAX_BEGINNING_BYTES = 8192;

/** Fields of a first line by which each format is known; all of one row must be there. */
const FORMAT_FIELDS: readonly (readonly string[])[] = [
  ['type', 'sessionId'], // Claude Code
  ['type', 'messageId', 'snapshot'], // Claude Code, its files before the messages
  ['sessionId', 'projectHash'], // Gemini CLI
  ['type', 'timestamp', 'cwd'], // pi
  ['timestamp', 'type', 'payload'], // Codex
  ['leafUuid', 'summary'], // Claude Code, a summary before the messages
  ['instance_id', 'history'], // OpenHands
  ['type', 'session_id'], // printed by Claude Code, Gemini CLI and Codex 0.42
  ['type', 'thread_id'], // printed by Codex
  ['reasoning effort', 'sandbox', 'workdir'], // printed by Codex before 0.42
  ['request_id', 'turn', 'request'], // captured by claude-tap
  ['request', 'response', 'logged_at'], // captured by claude-trace
  ['type', 'protocol_version'], // Kimi CLI
  ['resourceSpans'], // OpenTelemetry
  ['name', 'context', 'start_time', 'attributes'], // OpenTelemetry, a span a line
  ['v', 'seq', 'ts'] // our own
];

/** Returns whether a file that begins so is an agent's recording: a line of JSON with a format's fields. */
export function beginsLikeRecording(beginning: string): boolean {
  const [line = ''] = beginning.trimStart().split('\n', 1);
  if (!line.startsWith('{')) {
    return false;
  }
  const names = fieldNames(line);
  return FORMAT_FIELDS.some(fields => fields.every(name => names.has(name)));
}

/** Returns the names of a line's fields; of a line that is cut off, those that are seen in it. */
function fieldNames(line: string): ReadonlySet<string> {
  try {
    return new Set(Object.keys(JSON.parse(line) as object));
  } catch {
    return new Set(
      [...line.matchAll(/"([A-Za-z_]\w*)"\s*:/g)].map(([, name = '']) => name)
    );
  }
}

/** How the names of files end that may be recordings. */
const RECORDABLE_ENDINGS = [
  ...RECORDING_TYPES.flatMap(({ extensions }) => [...extensions]),
  '.jsonl',
  '.json'
];

/** What the file browser tells of a selected file. */
export interface ISelectedFile {
  readonly path: string;
  readonly type: string;
}

/** Returns the paths of one or two selected files that may be recordings; none where anything else is selected. */
export function comparablePaths(selected: readonly ISelectedFile[]): string[] {
  const areComparable = selected.every(
    ({ path, type }) =>
      type !== 'directory' &&
      RECORDABLE_ENDINGS.some(ending => path.endsWith(ending))
  );
  return areComparable && selected.length <= 2
    ? selected.map(({ path }) => path)
    : [];
}
