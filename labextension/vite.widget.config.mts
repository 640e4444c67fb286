import { defineConfig } from 'vite';

/** `session.view()` as one module and one style sheet, inside the Python package. */
export default defineConfig({
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    lib: {
      entry: 'src/widget/index.tsx',
      formats: ['es'],
      fileName: () => 'view.js',
      cssFileName: 'view'
    },
    outDir: '../kernel_ext/palimpsest/frontends/static',
    emptyOutDir: true,
    rolldownOptions: { output: { minify: true } },
    target: 'es2022',
    reportCompressedSize: false
  }
});
