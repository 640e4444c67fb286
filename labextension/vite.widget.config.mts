import { defineConfig } from 'vite';

/** `session.view()` as one module and one style sheet, and the loader of widgets' modules, inside the Python package. */
export default defineConfig({
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    lib: {
      entry: {
        view: 'src/widget/index.tsx',
        loader: 'src/widget/moduleLoader.ts'
      },
      formats: ['es'],
      fileName: (_, name) => `${name}.js`,
      cssFileName: 'view'
    },
    outDir: '../kernel_ext/palimpsest/frontends/static',
    emptyOutDir: true,
    rolldownOptions: { output: { minify: true } },
    target: 'es2022',
    reportCompressedSize: false
  }
});
