// @vitest-environment jsdom
/** One view is drawn in a saved output, also where two widget managers of a kernel opened its widget. */
import { afterEach, expect, it, vi } from 'vitest';
import { MountPoints } from '../../src/widget/mountPoints';

const opened: MountPoints[] = [];

function open(name: string): MountPoints {
  const points = new MountPoints('plm-inspect-key', container => {
    container.textContent = name;
    return () => undefined;
  });
  opened.push(points);
  return points;
}

afterEach(() => {
  opened.splice(0).forEach(points => {
    points.dispose();
  });
  document.body.innerHTML = '';
});

const drawn = (): string[] =>
  [...document.querySelectorAll('.plm-inspect-key > div')].map(
    element => element.textContent
  );

it('is that of the newest widget, and the older one draws again when that has ended', async () => {
  document.body.innerHTML =
    '<div class="plm-inspect-key"></div><div class="plm-inspect-key"></div>';
  open('former');
  await vi.waitFor(() => {
    expect(drawn()).toEqual(['former', 'former']);
  });

  const second = open('reopened');
  await vi.waitFor(() => {
    expect(drawn()).toEqual(['reopened', 'reopened']);
  });

  second.dispose();
  await vi.waitFor(() => {
    expect(drawn()).toEqual(['former', 'former']);
  });
});

it('moves with its output when that is written anew', async () => {
  document.body.innerHTML = '<div class="plm-inspect-key"></div>';
  open('former');
  await vi.waitFor(() => {
    expect(drawn()).toEqual(['former']);
  });
  const element = document.querySelector('.plm-inspect-key > div');

  document.body.innerHTML = '<div class="plm-inspect-key"></div>';
  await vi.waitFor(() => {
    expect(drawn()).toEqual(['former']);
  });
  expect(document.querySelector('.plm-inspect-key > div')).toBe(element);
});
