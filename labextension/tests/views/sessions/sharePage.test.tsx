// @vitest-environment jsdom
import { fireEvent, render, screen } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ExportedFile } from '../../../src/protocol/generated';
import {
  SharingActionsProvider,
  type ISharingActions
} from '../../../src/views/actions/sharing';
import { SharePage } from '../../../src/views/sessions/sharePage';
import { HostProvider } from '../../../src/views/host';
import { sharing } from '../../panelActions';
import { HOST } from '../../plainHost';

const FILE: ExportedFile = {
  path: '/p/.palimpsest/share/x.html',
  shown: '.palimpsest/share/x.html',
  bytes: 12,
  content: '<!doctype html>'
};

function draw(share: Partial<ISharingActions>, shared = false) {
  const seen = { back: vi.fn(), changed: vi.fn() };
  const whole: ISharingActions = {
    ...sharing(),
    share: () => Promise.resolve({ file: FILE }),
    unshare: () => Promise.resolve({ late: false }),
    ...share
  };
  render(
    <HostProvider value={HOST}>
      <SharingActionsProvider value={whole}>
        <SharePage
          session="ses_1"
          isShared={shared}
          onBack={seen.back}
          onChanged={seen.changed}
        />
      </SharingActionsProvider>
    </HostProvider>
  );
  return seen;
}

const press = (name: string) => {
  fireEvent.click(screen.getByRole('button', { name }));
};

beforeEach(() => {
  URL.createObjectURL = vi.fn(() => 'blob:page');
  URL.revokeObjectURL = vi.fn();
});
describe('Sharing', () => {
  it('says what a page is before it makes one', () => {
    const make = vi.fn(() => Promise.resolve({ file: FILE }));
    draw({ share: make });

    expect(screen.getByText(/look through it before/)).toBeTruthy();
    expect(make).not.toHaveBeenCalled();
    expect(document.activeElement?.textContent).toBe('Make the page');
    expect(screen.queryByText('Delete the page')).toBeNull();
  });

  it('says where the page is and lets a copy be saved', async () => {
    const make = vi.fn(() => Promise.resolve({ file: FILE }));
    const { changed } = draw({ share: make });
    press('Make the page');

    await screen.findByRole('button', { name: 'Save a copy' });
    const saved: HTMLAnchorElement[] = [];
    vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (
      this: HTMLAnchorElement
    ) {
      saved.push(this);
    });
    press('Save a copy');
    expect(make).toHaveBeenCalledWith('ses_1');
    expect(saved.map(link => [link.href, link.download])).toEqual([
      ['blob:page', 'session.html']
    ]);
    expect(screen.getByText(/share\/x\.html/)).toBeTruthy();
    expect(changed).toHaveBeenCalledOnce();
  });

  it('says how to get a page that is too large to be sent', async () => {
    const file = { ...FILE, content: undefined };
    draw({ share: () => Promise.resolve({ file }) });
    press('Make the page');

    expect(await screen.findByText(/%agent export html/)).toBeTruthy();
    expect(screen.queryByText('Save a copy')).toBeNull();
  });

  it('says what hindered it', async () => {
    draw({ share: () => Promise.resolve({ error: 'Switched off.' }) });
    press('Make the page');

    expect(await screen.findByText('Switched off.')).toBeTruthy();
  });

  it('takes a page back', async () => {
    const takeBack = vi.fn(() => Promise.resolve({ late: false }));
    const { back } = draw({ unshare: takeBack }, true);
    expect(screen.getByText('Make it again')).toBeTruthy();
    press('Delete the page');

    expect(await screen.findByText(/Copies stay/)).toBeTruthy();
    expect(takeBack).toHaveBeenCalledWith('ses_1');
    press('Close');
    expect(back).toHaveBeenCalledOnce();
  });
});
