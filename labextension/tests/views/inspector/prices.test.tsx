// @vitest-environment jsdom
/** A person chooses prices and the lifetime of the cache in the inspector: each choice is asked of view and track alike. */
import { fireEvent, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { sampleSource } from '../../inspector/sampleSource';
import { sample } from '../../inspector/samples';
import { LAST_N, draw, drawsInspectors, settle } from './drawnInspector';

const OWN = 'acme/m=1/10/0.1/1.25';

drawsInspectors();

async function drawn() {
  const { view, tracks } = sample('pi');
  const source = sampleSource(view, tracks);
  await draw(source, { policy: LAST_N });
  fireEvent.click(screen.getByRole('button', { name: 'prices' }));
  return source;
}

/** Returns the prices of the newest questions for the view and for the track. */
function newest({ asked }: ReturnType<typeof sampleSource>) {
  const prices = (kind: 'view' | 'track') =>
    asked
      .filter(query => query.ask === kind)
      .map(query => ('price' in query ? query.price : undefined))
      .at(-1);
  return [prices('view'), prices('track')];
}

async function choose(name: string, value: string): Promise<void> {
  fireEvent.change(screen.getByRole('combobox', { name }), {
    target: { value }
  });
  await settle();
}

async function type(value: string): Promise<void> {
  const field = screen.getByRole('textbox', { name: 'own price' });
  fireEvent.change(field, { target: { value } });
  fireEvent.keyDown(field, { key: 'Enter' });
  await settle();
}

describe('prices and lifetime', () => {
  it('are those of the recording until something is chosen', async () => {
    expect(newest(await drawn())).toEqual([undefined, undefined]);
  });

  it('are asked together, and taken back one by one', async () => {
    const source = await drawn();

    await choose('cache kept', '1h');
    expect(newest(source)).toEqual(['lifetime=1h', 'lifetime=1h']);
    await type(` ${OWN} `);
    const both = `${OWN} lifetime=1h`;
    expect(newest(source)).toEqual([both, both]);
    await choose('price', 'units');
    expect(newest(source)[0]).toBe(`units ${both}`);
    await choose('cache kept', '');
    await type('');
    expect(newest(source)).toEqual(['units', 'units']);
  });

  it('keep what is typed until the field is left', async () => {
    const source = await drawn();
    const field = screen.getByRole('textbox', { name: 'own price' });

    fireEvent.change(field, { target: { value: OWN } });
    await settle();
    expect(newest(source)).toEqual([undefined, undefined]);
    fireEvent.blur(field);
    await settle();

    expect(newest(source)).toEqual([OWN, OWN]);
    expect(screen.getByRole('textbox', { name: 'own price' })).toBe(field);
    expect(screen.getByRole('textbox', { name: 'own price' })).toHaveProperty(
      'value',
      OWN
    );
  });

  it('are offered with the policies of the cache', () => {
    const { view } = sample('pi');

    expect(view.policies.map(row => row.name)).toContain('cache.lifetime');
  });
});
