import { defineConfig } from 'vite';

/** `session.inspect()` as one module and one style sheet, inside the Python package. */
export default defineConfig({
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    lib: {
      entry: 'src/widget/inspectorWidget.tsx',
      formats: ['es'],
      fileName: () => 'inspector.js',
      cssFileName: 'inspector'
    },
    outDir: '../kernel_ext/palimpsest/frontends/static',
    emptyOutDir: false,
    rolldownOptions: { output: { minify: true } },
    target: 'es2022',
    reportCompressedSize: false
  }
});
