/** A widget is taken at once; its large module begins when it is loaded, unless the widget ended before. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

const MODULE = `export default {
  initialize: ({ heard }) => { heard('begins'); return () => heard('ends'); },
  render: ({ heard }) => { heard('is drawn'); return () => heard('is removed'); }
};`;

beforeEach(() => {
  vi.resetModules();
  // Node imports no address of a blob.
  vi.spyOn(URL, 'createObjectURL').mockReturnValue(
    `data:text/javascript,${encodeURIComponent(MODULE)}`
  );
});

afterEach(() => {
  vi.restoreAllMocks();
});

async function loader() {
  const heard = vi.fn<(words: string) => void>();
  const props = { model: { get: () => MODULE }, heard };
  const { default: module } = await import('../../src/widget/moduleLoader');
  return { module, props, heard };
}

it('begins and ends what the module does', async () => {
  const { module, props, heard } = await loader();

  const end = module.initialize(props);
  const remove = module.render(props);
  expect(heard).not.toHaveBeenCalled();
  await vi.waitFor(() => {
    expect(heard.mock.calls).toEqual([['begins'], ['is drawn']]);
  });
  remove();
  end();

  expect(heard.mock.calls.slice(2)).toEqual([['is removed'], ['ends']]);
});

it('begins nothing that was ended before the module came', async () => {
  const { module, props, heard } = await loader();

  module.initialize(props)();
  module.render(props);
  await vi.waitFor(() => {
    expect(heard.mock.calls).toEqual([['is drawn']]);
  });
});
