/**
 * What a paste or a drop holds: files, a table, notebook cells, paths of JupyterLab's file browser.
 *
 * All of it is data from outside: HTML is parsed in a document of its own, which runs and loads nothing.
 */

/** Content that goes along with a prompt as a file. */
export interface ITransferredFile {
  name: string;
  bytes: number;
  /** Resolves to a `data:` URL in Base64; rejects where the browser cannot read it. */
  read: () => Promise<string>;
}

export interface ITransferredContent {
  files: readonly ITransferredFile[];
  /** Paths of files as JupyterLab's file browser has them. */
  paths: readonly string[];
}

/** The data of a drag in JupyterLab, which is no drag of the browser. */
export interface IMimeData {
  hasData(mime: string): boolean;
  getData(mime: string): unknown;
}

const CELLS_MIME = 'application/vnd.jupyter.cells';
const PATHS_MIME = 'application/x-jupyter-icontents';

/** Returns what is attached of a paste or a drop; no files where it is ordinary text. */
export function transferredContent(data: DataTransfer): ITransferredContent {
  const html = data.getData('text/html');
  const plainText = data.getData('text/plain');
  // A spreadsheet offers a picture of its cells, too.
  const table = html === '' ? tabSeparatedText(plainText) : tableText(html);
  if (table !== null) {
    return { files: [textFile('table.tsv', table)], paths: [] };
  }
  return { files: [...data.files].map(browserFile), paths: [] };
}

/** Returns whether a drag over the page holds files; what is in them is known after the drop. */
export function holdsFiles(data: DataTransfer | null): boolean {
  return data?.types.includes('Files') === true;
}

/** Returns whether a drag in JupyterLab holds something to attach. */
export function isAttachable(data: IMimeData): boolean {
  return data.hasData(CELLS_MIME) || data.hasData(PATHS_MIME);
}

/** Returns what is attached of a drag in JupyterLab. */
export function transferredInLab(data: IMimeData): ITransferredContent {
  const paths = data.hasData(PATHS_MIME) ? data.getData(PATHS_MIME) : [];
  const cells = data.hasData(CELLS_MIME) ? data.getData(CELLS_MIME) : [];
  const file = cellsFile(Array.isArray(cells) ? cells : []);
  return {
    files: file === null ? [] : [file],
    paths: Array.isArray(paths)
      ? paths.filter((path): path is string => typeof path === 'string')
      : []
  };
}

/** Returns the rows of HTML that is one table and nothing else, separated by tabs; else null. */
export function tableText(html: string): string | null {
  const page = new DOMParser().parseFromString(html, 'text/html');
  const [table, ...others] = page.querySelectorAll('table');
  if (table === undefined || others.length > 0) {
    return null;
  }
  const rows = [...table.rows].map(row =>
    [...row.cells].map(cell => oneLineText(cell.textContent)).join('\t')
  );
  for (const element of page.querySelectorAll('table, style, script')) {
    element.remove();
  }
  const isAlone = page.body.textContent.trim() === '';
  return isAlone && rows.join('').trim() !== '' ? `${rows.join('\n')}\n` : null;
}

/** Returns text that is a table separated by tabs; null for other text, such as indented code. */
function tabSeparatedText(text: string): string | null {
  const lines = text.replace(/\r\n?/g, '\n').replace(/\n$/, '').split('\n');
  const tabCount = (lines[0] ?? '').split('\t').length - 1;
  const isTable =
    lines.length > 1 &&
    tabCount > 0 &&
    lines.every(line => line.split('\t').length - 1 === tabCount) &&
    lines.some(line => !line.startsWith('\t'));
  return isTable ? `${lines.join('\n')}\n` : null;
}

function oneLineText(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Returns the sources of dragged cells as one text; null where there are none. */
function cellsFile(cells: readonly unknown[]): ITransferredFile | null {
  const sources = cells.flatMap(cell => {
    const { cell_type, execution_count, source } = (cell ?? {}) as Partial<
      Record<string, unknown>
    >;
    const text = Array.isArray(source) ? source.join('') : source;
    if (typeof text !== 'string' || text.trim() === '') {
      return [];
    }
    const number =
      typeof execution_count === 'number' ? String(execution_count) : '';
    return [{ number, text, isCode: cell_type === 'code' }];
  });
  const [first] = sources;
  if (first === undefined) {
    return null;
  }
  const text = sources
    .map(({ number, isCode, text }) =>
      isCode ? `# In [${number || ' '}]:\n${text}` : text
    )
    .join('\n\n');
  const name =
    sources.length > 1
      ? `${sources.length} cells`
      : first.number === ''
        ? 'cell'
        : `cell ${first.number}`;
  return textFile(name, `${text}\n`);
}

function textFile(name: string, text: string): ITransferredFile {
  const bytes = new TextEncoder().encode(text);
  return {
    name,
    bytes: bytes.length,
    read: () => Promise.resolve(`data:text/plain;base64,${base64Text(bytes)}`)
  };
}

function browserFile(file: File): ITransferredFile {
  return {
    name: file.name,
    bytes: file.size,
    read: async () => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      return `data:application/octet-stream;base64,${base64Text(bytes)}`;
    }
  };
}

/** How many bytes become characters at once, since they are arguments of one call. */
const MAX_PIECE_BYTES = 0x8000;

function base64Text(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += MAX_PIECE_BYTES) {
    text += String.fromCharCode(
      ...bytes.subarray(start, start + MAX_PIECE_BYTES)
    );
  }
  return btoa(text);
}
