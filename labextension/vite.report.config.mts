import { defineConfig } from 'vite';

/** The script and the style sheet that `session.report()` puts into its page. */
export default defineConfig({
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    lib: {
      entry: 'src/report/index.tsx',
      formats: ['iife'],
      name: 'palimpsestInspector',
      fileName: () => 'report.js',
      cssFileName: 'report'
    },
    outDir: '../kernel_ext/palimpsest/frontends/static',
    emptyOutDir: false,
    rolldownOptions: { output: { minify: true } },
    target: 'es2022',
    reportCompressedSize: false
  }
});
