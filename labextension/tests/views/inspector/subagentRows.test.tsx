// @vitest-environment jsdom
/** A call that started a subagent opens to that one's own inspector, and a button leads back. */
import { act, fireEvent, render, screen, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { ViewQuery } from '../../../src/protocol/generated';
import type {
  IInspectorPlace,
  IInspectorSource
} from '../../../src/state/inspector/source';
import { HostProvider } from '../../../src/views/host';
import { Inspector } from '../../../src/views/inspector/inspector';
import { sampleSource } from '../../inspector/sampleSource';
import { sample } from '../../inspector/samples';
import { HOST } from '../../plainHost';
import { drawsInspectors, settle } from './drawnInspector';

const { view, tracks } = sample('pi');
const CALL = view.items.kind.findIndex(kind => view.kinds[kind] === 'call');
const STARTED = {
  ...view,
  missing_subagents: [CALL + 1],
  subagents: [
    {
      session: 'ses_child',
      title: 'Explore the code',
      request: 4,
      call: CALL,
      requests: 14,
      tokens: 900,
      cost: 0.12,
      cost_is_fact: true
    }
  ]
};
const CHILD = {
  ...sample('claude_code').view,
  session: 'ses_child',
  title: 'Explore the code',
  within: view.session
};

/** Returns a source that answers about the session and about its subagent. */
function source(): IInspectorSource & { asked: ViewQuery[] } {
  const own = sampleSource(STARTED, tracks);
  const child = sampleSource(CHILD, sample('claude_code').tracks);
  return {
    asked: own.asked,
    ask: query =>
      query.subagent === 'ses_child' ? child.ask(query) : own.ask(query)
  };
}

async function draw(
  place: Partial<IInspectorPlace>,
  from: IInspectorSource = source(),
  copy: (link: string) => Promise<void> = () => Promise.resolve()
) {
  const onPlace = vi.fn<(place: IInspectorPlace) => void>();
  render(
    <HostProvider value={{ ...HOST, copy }}>
      <Inspector
        source={from}
        place={{ request: null, item: null, ...place }}
        onPlace={onPlace}
      />
    </HostProvider>
  );
  await settle();
  return onPlace;
}

function back(): HTMLElement | null {
  return screen.queryByRole('button', {
    name: /Back to the session that started it$/
  });
}

function title(): string {
  return screen.getByRole('heading', { level: 2 }).textContent;
}

describe('a call that started a subagent', () => {
  drawsInspectors();

  it('says what it sent and cost, opens by Space, and is left to the same place', async () => {
    const onPlace = await draw({ request: 20, item: CALL });
    const cell = within(screen.getByRole('grid')).getByRole('gridcell');

    expect(cell.textContent).toContain(
      'a subagent with 14 requests · 0.12 USD, Space opens it'
    );
    expect(back()).toBeNull();
    fireEvent.keyDown(screen.getByRole('grid'), { key: ' ' });
    await settle();
    expect(title()).toBe('Explore the code');
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({
      subagent: 'ses_child',
      request: null,
      item: null
    });
    await act(async () => {
      fireEvent.click(back() as HTMLElement);
      await Promise.resolve();
    });
    await settle();
    expect(title()).toBe(view.title || view.session);
    expect(onPlace.mock.lastCall?.[0]).toEqual({ request: 20, item: CALL });
  });

  it('has the way into it in its card', async () => {
    const onPlace = await draw({ request: 20, item: CALL });
    const card = screen.getByRole('group', { name: 'The chosen item' });

    expect(card.textContent).toContain('14 requests · 0.12 USD');
    fireEvent.click(
      within(card).getByRole('button', { name: 'Open its inspector' })
    );
    await settle();
    expect(onPlace.mock.lastCall?.[0]).toMatchObject({ subagent: 'ses_child' });
  });

  it('is in the link of the session that was asked for it', async () => {
    const copied = vi.fn(() => Promise.resolve());
    await draw({ subagent: 'ses_child', request: 1 }, source(), copied);

    expect(title()).toBe('Explore the code');
    fireEvent.click(screen.getByRole('button', { name: 'Copy link' }));
    expect(copied).toHaveBeenCalledWith(
      `palimpsest:${view.session}/2?subagent=ses_child`
    );
    fireEvent.click(back() as HTMLElement);
    await settle();
    expect(title()).toBe(view.title || view.session);
  });

  it('says where its session is not there', async () => {
    await draw({ request: 20, item: CALL + 1 });

    expect(
      screen.getByRole('group', { name: 'The chosen item' }).textContent
    ).toContain('a subagent whose session is not there');
  });

  it('of a report cannot be opened, which a sentence says', async () => {
    const report: IInspectorSource = {
      ...source(),
      subagentSource: () => null
    };
    await draw({ subagent: 'ses_child', request: 1 }, report);

    expect(title()).toBe(view.title || view.session);
    expect(document.querySelector('.plm-Inspector-notice')?.textContent).toBe(
      'The link leads to a subagent, which is not in this report.'
    );
    expect(back()).toBeNull();
    fireEvent.keyDown(screen.getByRole('grid'), { key: ' ' });
    await settle();
    expect(title()).toBe(view.title || view.session);
  });

  it('of a report has its figures in its row, and no way into it', async () => {
    const report: IInspectorSource = {
      ...source(),
      subagentSource: () => null
    };
    await draw({ request: 20, item: CALL }, report);
    const cell = within(screen.getByRole('grid')).getByRole('gridcell');

    expect(cell.textContent).toContain(
      'a subagent with 14 requests · 0.12 USD'
    );
    expect(cell.textContent).not.toContain('Space');
    expect(screen.queryByRole('button', { name: 'Open its inspector' })).toBe(
      null
    );
  });
});
