import { defineConfig } from 'vite';

/** The inspector alone as one script and one style sheet, for pictures and the bench; it is not shipped. */
export default defineConfig({
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    lib: {
      entry: 'tests/inspector/page/page.tsx',
      formats: ['es'],
      fileName: () => 'inspector.js',
      cssFileName: 'inspector'
    },
    outDir: 'dist-inspector',
    rolldownOptions: { output: { minify: true } },
    target: 'es2022',
    reportCompressedSize: false
  }
});
