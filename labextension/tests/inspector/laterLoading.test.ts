/** What JupyterLab loads at its start is without the inspector's views. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const IMPORTED = /^(?:import|export)(?!\s+type\b)[^;]*?from\s+'(\.[^']+)'/gm;

/** Returns the files that a file of `src` loads with itself; not those of its types or of `import(...)`. */
function loadedBy(file: string, known = new Set<string>()): Set<string> {
  known.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, path = ''] of text.matchAll(IMPORTED)) {
    const base = join(dirname(file), path);
    const found = [`${base}.ts`, `${base}.tsx`].find(candidate =>
      existsSync(candidate)
    );
    if (found !== undefined && !known.has(found)) {
      loadedBy(found, known);
    }
  }
  return known;
}

it('is its commands, and neither its tabs nor its views', () => {
  const loaded = [...loadedBy(join('src', 'index.ts'))].map(file =>
    file.replaceAll('\\', '/')
  );

  expect(loaded).toContain('src/inspector/commands.ts');
  expect(loaded).toContain('src/views/chat/chatPanel.tsx');
  expect(
    loaded.filter(file => /views\/inspector\/|inspectorTabs|kernels/.test(file))
  ).toEqual([]);
});
