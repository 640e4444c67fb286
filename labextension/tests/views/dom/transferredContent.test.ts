// @vitest-environment jsdom
/** What a paste or a drop holds: tables, cells and paths; ordinary text is none of them. */
import { describe, expect, it } from 'vitest';
import {
  isAttachable,
  tableText,
  transferredContent,
  transferredInLab
} from '../../../src/views/dom/transferredContent';

function pasted(texts: Record<string, string>): DataTransfer {
  return {
    getData: (mime: string) => texts[mime] ?? '',
    files: [] as unknown as FileList
  } as unknown as DataTransfer;
}

function dragged(mime: string, value: unknown) {
  return {
    hasData: (wanted: string) => wanted === mime,
    getData: () => value
  };
}

async function textOf(read: (() => Promise<string>) | undefined) {
  const url = (await read?.()) ?? '';
  return Buffer.from(url.split(',')[1] ?? '', 'base64').toString('utf8');
}

describe('a table', () => {
  it('is its rows, separated by tabs', () => {
    const html =
      '<style>td {}</style><table><tr><th>name<th>mass<tr><td>a\tb<br>c<td>2</table>';

    expect(tableText(html)).toBe('name\tmass\na bc\t2\n');
  });

  it.each([
    '<p>See:</p><table><tr><td>1</table>',
    '<table><tr><td>1</table><table><tr><td>2</table>',
    '<table></table>',
    '<p>words</p>'
  ])('is not taken out of %s', html => {
    expect(tableText(html)).toBeNull();
  });

  it('runs and loads nothing', () => {
    const html =
      '<table><tr><td><script>window.ran = 1</script><img src=x onerror="window.ran = 1"></td><td>1</table>';
    tableText(html);

    expect((window as { ran?: number }).ran).toBeUndefined();
  });

  it('is also text with tabs, in UTF-8', async () => {
    const [file] = transferredContent(
      pasted({ 'text/plain': 'ä\tb\r\n1\t2\r\n' })
    ).files;

    expect(file?.name).toBe('table.tsv');
    expect(await textOf(file?.read)).toBe('ä\tb\n1\t2\n');
  });

  it.each([
    'plain words',
    'one\tline',
    '\tdef f():\n\t\treturn 1',
    '\tif x:\n\telse:',
    'a\tb\nc'
  ])('is not ordinary text: %j', text => {
    expect(transferredContent(pasted({ 'text/plain': text })).files).toEqual(
      []
    );
  });
});

describe('a drag in JupyterLab', () => {
  const CELLS = 'application/vnd.jupyter.cells';
  const PATHS = 'application/x-jupyter-icontents';

  it('brings the sources of cells, and says which ran', async () => {
    const cells = [
      { cell_type: 'code', execution_count: 7, source: ['a = 1\n', 'a'] },
      { cell_type: 'markdown', source: '# Title' },
      { cell_type: 'code', execution_count: null, source: ' ' }
    ];
    const [file] = transferredInLab(dragged(CELLS, cells)).files;

    expect(file?.name).toBe('2 cells');
    expect(await textOf(file?.read)).toBe('# In [7]:\na = 1\na\n\n# Title\n');
  });

  it('brings paths', () => {
    const data = dragged(PATHS, ['data/a.csv', 7]);

    expect(isAttachable(data)).toBe(true);
    expect(transferredInLab(data)).toEqual({
      files: [],
      paths: ['data/a.csv']
    });
  });

  it.each([null, 'cells', [null, 3, { source: 7 }]])(
    'brings nothing of what is no list of cells: %j',
    value => {
      expect(transferredInLab(dragged(CELLS, value)).files).toEqual([]);
    }
  );

  it('of something else is left alone', () => {
    expect(isAttachable(dragged('text/plain', 'words'))).toBe(false);
  });
});
