// @vitest-environment jsdom
import { act, fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import {
  SharingActionsProvider,
  type IImportProgress,
  type IImportResult,
  type ISharingActions
} from '../../../src/views/actions/sharing';
import {
  ExportDialog,
  ImportDialog
} from '../../../src/views/sessions/importExport';
import { HostProvider } from '../../../src/views/host';
import { sharing } from '../../panelActions';
import { HOST } from '../../plainHost';

const FILE = { path: '/p/a.ipynb', shown: 'a.ipynb', bytes: 12_345 };

function doing(more: Partial<ISharingActions> = {}) {
  const actions = sharing();
  actions.export.mockResolvedValue({ file: FILE });
  actions.import.mockResolvedValue({ imported: [] });
  return { ...actions, ...more };
}

const press = async (name: string) => {
  await act(async () => {
    fireEvent.click(screen.getByRole('button', { name }));
    await Promise.resolve();
  });
};

describe('Exporting', () => {
  function draw(files = doing()) {
    const back = vi.fn();
    render(
      <HostProvider value={HOST}>
        <SharingActionsProvider value={files}>
          <ExportDialog session="ses_1" onBack={back} />
        </SharingActionsProvider>
      </HostProvider>
    );
    return { files, back };
  }

  it('writes the form that is pressed, and says where', async () => {
    const { files } = draw();
    expect(document.activeElement?.textContent).toBe('Notebook');

    await press('Markdown');

    expect(files.export).toHaveBeenCalledWith('ses_1', 'md');
    expect(screen.getByText('Written to a.ipynb (12.3 kB).')).toBeTruthy();
  });

  it('says what hindered it', async () => {
    draw(doing({ export: () => Promise.resolve({ error: 'No room.' }) }));

    await press('JSON');

    expect(screen.getByRole('status').textContent).toBe('No room.');
  });

  it('writes one file for two presses in a hurry', async () => {
    const { files } = draw(
      doing({ export: vi.fn(() => new Promise<never>(() => undefined)) })
    );

    await press('Web page');
    await press('Web page');

    expect(files.export).toHaveBeenCalledTimes(1);
    expect(screen.getByText('A moment…')).toBeTruthy();
  });

  it('goes back', async () => {
    const { back } = draw();
    await press('Close');
    expect(back).toHaveBeenCalled();
  });
});

describe('Importing', () => {
  function draw(files = doing()) {
    const seen = { back: vi.fn(), changed: vi.fn() };
    render(
      <HostProvider value={HOST}>
        <SharingActionsProvider value={files}>
          <ImportDialog onBack={seen.back} onChanged={seen.changed} />
        </SharingActionsProvider>
      </HostProvider>
    );
    return { files, ...seen };
  }
  const field = () => screen.getByRole('textbox', { name: /Path/ });
  const row = (outcome: 'new' | 'same' | 'copy', id = outcome) => ({
    id,
    title: id,
    outcome,
    messages: 1,
    read_only: false
  });

  it('brings in what is named, and counts what came', async () => {
    const imported = [row('new', 'a' as 'new'), row('new'), row('same')];
    const { files, changed } = draw(
      doing({ import: vi.fn(() => Promise.resolve({ imported })) })
    );
    expect(document.activeElement).toBe(field());

    fireEvent.change(field(), { target: { value: ' old.json ' } });
    await press('Import');

    expect(files.import).toHaveBeenCalledWith('old.json', expect.anything());
    expect(screen.getByText('Imported: 2 new, 1 here already.')).toBeTruthy();
    expect(changed).toHaveBeenCalled();
  });

  it('names what could not be read, and counts the rest', async () => {
    const unreadable = ['a', 'b', 'c', 'd', 'e'].map(where => ({
      where,
      what: 'It is broken.'
    }));
    draw(doing({ import: () => Promise.resolve({ unreadable }) }));

    fireEvent.change(field(), { target: { value: 'x' } });
    await press('Import');

    expect(screen.getByText('No session was found there.')).toBeTruthy();
    expect(screen.getByText('Not read: c. It is broken.')).toBeTruthy();
    expect(screen.queryByText(/Not read: d/)).toBeNull();
    expect(screen.getByText('2 more could not be read.')).toBeTruthy();
  });

  it('shows how far it is, and is stopped by a button', async () => {
    let told: (progress: IImportProgress) => void = () => undefined;
    let ends: (result: IImportResult) => void = () => undefined;
    const { files } = draw(
      doing({
        import: (_path, onProgress) => {
          told = onProgress;
          return new Promise(resolve => {
            ends = resolve;
          });
        }
      })
    );
    fireEvent.change(field(), { target: { value: 'large.jsonl' } });
    await press('Import');
    expect(screen.queryByRole('progressbar')).toBeNull();

    act(() => {
      told({ id: 'c1', bytes: 0, total: 0 });
    });
    expect(screen.getByRole('progressbar')).toBeTruthy();
    act(() => {
      told({ id: 'c1', bytes: 2_500_000, total: 10_000_000 });
    });
    expect(screen.getByText(/^2\.5 MB of 10(\.0)? MB, 25%$/)).toBeTruthy();
    await press('Stop');
    expect(files.stopImport).toHaveBeenCalledWith('c1');

    await act(async () => {
      ends({ imported: [row('new')] });
      await Promise.resolve();
    });
    expect(screen.queryByRole('progressbar')).toBeNull();
    expect(screen.getByText('Imported: 1 new.')).toBeTruthy();
  });

  it('asks for a path first, and is left by Escape', () => {
    const { files, back } = draw();

    fireEvent.submit(screen.getByRole('form', { name: 'Import' }));
    expect(files.import).not.toHaveBeenCalled();

    fireEvent.keyDown(field(), { key: 'Escape' });
    expect(back).toHaveBeenCalled();
  });
});
