// @vitest-environment jsdom
/** Two regions of a page have different names, whichever script drew them. */
import { cleanup, render, screen } from '@testing-library/react';
import { useRef } from 'react';
import { afterEach, expect, it } from 'vitest';
import { HostProvider } from '../../../src/views/host';
import { nameRegion, useRegionName } from '../../../src/views/dom/regionName';
import { HOST } from '../../plainHost';

afterEach(cleanup);

function NamedRegion({ name }: { name: string }) {
  const place = useRef<HTMLDivElement>(null);
  useRegionName(place, name);
  return <div ref={place} role="region" />;
}

function Regions({ names }: { names: readonly (readonly [string, string])[] }) {
  return (
    <HostProvider value={HOST}>
      {names.map(([key, name]) => (
        <NamedRegion key={key} name={name} />
      ))}
    </HostProvider>
  );
}

const shownNames = () =>
  screen
    .getAllByRole('region')
    .map(region => region.getAttribute('aria-label'));

it('numbers regions of the same name, and keeps the number of one that stays', () => {
  const { rerender } = render(
    <Regions
      names={[
        ['a', 'Plot'],
        ['b', 'Other'],
        ['c', 'Plot']
      ]}
    />
  );
  expect(shownNames()).toEqual(['Plot', 'Other', 'Plot (2)']);

  rerender(
    <Regions
      names={[
        ['c', 'Plot'],
        ['d', 'Plot']
      ]}
    />
  );
  expect(shownNames()).toEqual(['Plot (2)', 'Plot']);
});

it('gives another number with another name', () => {
  const { rerender } = render(
    <Regions
      names={[
        ['a', 'Plot'],
        ['b', 'Plot']
      ]}
    />
  );
  rerender(
    <Regions
      names={[
        ['a', 'Plot'],
        ['b', 'Other']
      ]}
    />
  );

  expect(shownNames()).toEqual(['Plot', 'Other']);
});

it('sees the regions of other scripts', () => {
  const [first, second] = [0, 1].map(() => document.createElement('div'));
  document.body.append(first as Node, second as Node);
  nameRegion(first as HTMLElement, 'Plot', HOST.words);
  nameRegion(second as HTMLElement, 'Plot', HOST.words);
  nameRegion(first as HTMLElement, 'Plot', HOST.words);

  expect(first?.getAttribute('aria-label')).toBe('Plot');
  expect(second?.getAttribute('aria-label')).toBe('Plot (2)');
  first?.remove();
  second?.remove();
});
